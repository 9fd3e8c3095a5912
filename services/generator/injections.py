"""Prompt injections: sentences that give orders to whoever reads them for the user. They are data, and no answer."""

import re
import unicodedata

from services.text.invisible import without_invisible

# Letters of other alphabets that look Latin: enough of them to read an order that hides behind them.
_LOOKALIKES = str.maketrans(
    "асԁеһіјорԛѕхуԝѵАВСЕНІЈКМОРЅТХΑΒΕΖΗΙΚΜΝΟΡΤΥΧοι", "acdehijopqsxywvABCEHIJKMOPSTXABEZHIKMNOPTYXoi"
)

_ORDER = re.compile(
    r"""(?<!not\ )(?<!never\ )\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}
          \b(?:previous|prior|above|earlier|all|any|other|your|everything|the\ (?:system|user|rest))\b.{0,40}
          \b(?:instructions?|prompts?|rules|guidelines|context|documents?|sources?|text|questions?
             |content|told|said)\b
      | \bthe\ (?:correct\ |right\ |only\ )?answer\ to\ (?:every|any|all|each|whatever|the\ user|this\ question)\b
      | \b(?:every|any|all|whatever)\ (?:of\ the\ |other\ |following\ |user\ )*(?:question|query|queries|prompt)s?\b
          .{0,40}\b(?:answer|reply|respond|say|output)
      | \b(?:answer|reply|respond)\ (?:only\ |always\ |instead\ |exclusively\ )+with\b
      | \b(?:answer|reply|respond|say|write|print|output)\b.{0,30}\b(?:instead\ of\ answering|no\ matter\ what)\b
      | \b(?:you|assistant|model|ai|chatbot|llm)\ (?:must|should|shall|will|are\ (?:now|required|instructed|to))\b
          .{0,30}\b(?:(?:answer|reply|respond|say)\ (?:with|that|only|:|["'“])|ignore\ (?:the|all|any)
             |disregard\ (?:the|all)
          |reveal|pretend|obey|act\ as|tell\ the\ user)
      | \b(?:new|updated|hidden|secret|system)\ (?:system\ )?(?:instructions?|prompts?|directives?)\s*:
      | ^\W*(?:(?:system|human)\s*[:>\]]|(?:assistant|ai|chatbot|language\ model)\s*[:>\],])
      | \bas\ (?:shown|stated|proven|confirmed)\ in\ \[\d+\]|\bcitation\ status\b|\bcite\ page\b
      | \bsource\ ?:\ ?\[\d+\]
      | <\s*/?\s*(?:system|instructions?|assistant|user|prompt|im_start|im_end)\b|\[/?inst\]|<\|
      | \b(?:reveal|repeat|print|show|output)\b.{0,30}\b(?:system\ prompt|your\ (?:instructions|prompt|rules))\b
      | \bas\ an\ ai\b|\byou\ are\ (?:now\ )?(?:an?\ )?(?:ai\b|assistant|chatgpt|claude|dan\b|jailbroken)
      | \bdo\ not\ (?:cite|abstain|answer\ the\ (?:question|user)|mention\ this|tell\ the\ user|reveal\ this)\b
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def is_injection(sentence: str) -> bool:
    """Whether a sentence speaks to the reader's assistant rather than about its subject."""
    return _ORDER.search(_plain(sentence)) is not None


def _plain(text: str) -> str:
    """The text as a person sees it: no invisible characters, no lookalikes, single spaces."""
    shown = unicodedata.normalize("NFKC", without_invisible(text)).translate(_LOOKALIKES)
    return " ".join(shown.split())
