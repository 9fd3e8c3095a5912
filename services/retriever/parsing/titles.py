"""Titles that say something, and those that a program left in a file."""

import re

_NOTHING = re.compile(
    r"""(?:
        untitled(?:\ \w+)? | unbenannt(?:e[sr]?\ \w+)? | sin\ nombre | sans\ nom | reportlab\ pdf | normal\ template
        | do[ck]umento?\ (?:sans\ (?:titre|nom)|sin\ (?:t[ií]tulo|nombre)|sem\ (?:t[ií]tulo|nome)|senza\ (?:titolo|nome)
        |ohne\ (?:titel|namen)|zonder\ titel|uden\ titel|uten\ (?:tittel|navn)|bez\ (?:n[áa]zvu|tytu[łl]u|nazwy))
        | sans\ titre | sin\ t[ií]tulo | sem\ t[ií]tulo | senza\ titolo | naamloos
        | namnl[öo]s | no\ title | dok?[ck]ument[oe]? | doc | (?:new|neues)\ do[ck]ument
        | (?:ohne|kein)\ titel | titel | title | titre | t[ií]tulo | titolo | namenlos | zonder\ titel | uden\ titel
        | uten\ (?:tittel|navn) | nimet[öo]n | bez\ (?:n[áa]zvu|tytu[łl]u) | n[ée]v\ n[ée]lk[üu]l
        | ba[şs]l[\u0131i]ks[\u0131i]z
        | (?:nouveau|nuevo|nuovo|novo|nieuw|nytt|nyt)\ do[ck]umento? | без\ (?:названия|имени|назви) | документ
        | 無題 | 无标题 | 無標題 | 未命名 | 文档 | 文書 | 제목\ ?없음
        | blank\ page | about:blank | (?:copy|kopie|copie|copia)\ (?:of|von|de)\ (?:do[ck]ument|untitled)
        | (?:document\ |page\ )?title\ of\ (?:the\ )?(?:document|page|file) | word\ document
        | google\ (?:docs|slides|sheets) | canva(?:\ design.*)? | (?:jasper|crystal)\ ?reports?
        | \d{6,8}[_-]?scan(?:[_-]\d+)?
        | anonymous | unspecified | unknown | unnamed | noname | n/?a | tbd | (?:document\ )?title\ here | your\ title
        | (?:microsoft\ )?(?:word|excel|powerpoint|office)(?:[\ -](?:document|presentation|pr[äa]sentation))?
        | presentation | pr[äa]sentation | slide | folie | diapositive? | sheet | tabelle | book | mappe | layout
        | template | vorlage | temp | tmp | test | scan | scanned\ (?:document|image) | image | img | fax | print
        | output | file | datei | page | pdf | none | null | default | blank | normal | draft | download
        | adobe\ (?:indesign|photoshop|illustrator).* | (?:pdf)?(?:la)?tex\ with\ (?:the\ )?hyperref(?:\ package)?
    )[\s_\-]*(?:\(?\d+\)?)?(?:\.\w{1,5})?""",
    re.IGNORECASE | re.VERBOSE,
)
_PROGRAM = re.compile(
    r"(?:microsoft (?:word|excel|powerpoint|office)|word|powerpoint|acrobat|pagemaker|quark\w*|indesign) - .*"
    r"|.*\.(?:docx?|dotx?|xlsx?|pptx?|potx?|rtf|odt|odp|ods|indd|qxd|qxp|pmd|pm\d|fm|cdr|ai|psd|tex|dvi|e?ps|pdf|txt|html?|"
    r"xml|dwg|wpd|pages|key|tmp|tiff?|jpe?g|png)",
    re.IGNORECASE,
)
_GUID = re.compile(
    r"\{?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\}?|[0-9a-f]{16,}", re.IGNORECASE
)
_PATH = re.compile(r"[a-z]:\\.*|\\\\.*|file:.*|/(?:\S+/)+\S*|https?:\S+", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:pii|doi|isbn|issn)\b.*", re.IGNORECASE)


def is_title(text: str) -> bool:
    """Whether a reader would know a document by it. Not "untitled", a program's or a file's name, a GUID, a path."""
    text = text.strip().strip("<>[]()")
    letters = sum(map(str.isalpha, text))
    if not letters or "\ufffd" in text:
        return False
    return not any(
        pattern.fullmatch(text) for pattern in (_NOTHING, _PROGRAM, _GUID, _PATH, _ARTICLE)
    )
