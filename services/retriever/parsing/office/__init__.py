"""Word, PowerPoint and Excel files and tables as text, by what a reader of them sees."""
