"""From records to numbers: judgements, metrics, rates, intervals, comparisons. Plain values in, plain values out."""
