"""The 150 commonest pairs of letters of languages, small and without accents, by script.

Counted in word lists with frequencies. They cover nine of ten pairs of their own language and six of ten or more of its
neighbours (Polish, Czech, Danish, Vietnamese); of text whose letters stand for others about one in four.
"""

_LATIN = {
    "German": (
        "chenerineiicdestieteesndgeneasisbeunredidaanhtsehassheauwisiscirminilealemwallmearurweitab"
        "dunnusetelzulinsngehraatsoonrtigmahrorntveactilarsufriltkerducolbiihmmhivofunaruumockolsut"
        "imfeilhnttkatramhoegtzsahlagtafaeutswoedzeckebmunuahomgsnornrospostugaecjenzbabrkthsubgtzt"
        "rbklwurgftnkprlorkpahmgrviohef"
    ),
    "English": (
        "thheouinyoanhareerattoonngitisvendhillstmeorenwhalarnoedasbesewaotdoeateutofneurlewehoeset"
        "owgouscaomlinteekesotifowicoroelavtashgemaloldilrideoomyayuliddichlywoevadpebobughacunceki"
        "ryifralaakicckecigsijuabimaimonaeyolttsatrknamhtrsfissieikmiplosnkemirivodrtprfrfeiobansov"
        "opupnnoioknisuctpogipaugucncny"
    ),
    "Spanish": (
        "enuedeesnoquerlaraarelteunloonorconttatodostalnaasadosanremaromeseiepomipadacisicasotrioin"
        "saleperiiatidiacidomamvehamosuhouitucugoiscellicecirncchprbiliabolvimugundemrtmpbaheniusoc"
        "egrdbrneoduaedgaatjootmblgspblilitimnuvoaqiguryorrhipupigrrmfiezfangobejavetajucscnsahbuza"
        "vajeapluctbeeauyjageulfeyaivib"
    ),
    "Basque": (
        "enarateraninrateretatzkoitzebaturiakezetdunaaizarrbedazuoregikgilaurizgohautaldiekiaeskaea"
        "onrtdeguirgahistntzikisaauaguzoaunmailukehazbinendnitingelhoueasahnousgeuakukelerosiiomeld"
        "emtxtsotskabztlirutojahezkseiedoidsoolamospaokrkrdadpeoijosunuuledltiszougudpoloboeibumioz"
        "motrpiluoemuxeaprbibnbprxiigxa"
    ),
    "French": (
        "ouesdelereenaionerisqutentusneuemepavourseasetitlaanunraoiieveeunscecotrpouiirpestarjemaau"
        "intoutilsoavrosatufasullemchvandtiriprezomnossmoelecoruxsicadialludatammplrsduhertvigeatnc"
        "otdouvnnliosiottevmiulrrammpaclocinifihovrimdrapnablhaeecrbobibefeicagrcepoluofogajotsrdea"
        "uceingupivpppuuambcubactjanugr"
    ),
    "Italian": (
        "reertonooncoditaarenstrateanchatlaiaortiuninntiososiheroesridettsepealquosnesalemamimeeldo"
        "llmonalovelicisstrolndamcadailprpofaavvoceictupauenietuaasscvautituoieccaiisviompisurtimha"
        "giglacbezieihiltbiemiroveduiagspfiotmpapevncegcuadbbigaznngnoiiuogivrlzahourbazzfousocgaop"
        "nsrsrdrmnzrcecidrrabulppnugefe"
    ),
    "Latvian": (
        "ieasartikataessaatjanapastunaiisinirriliranovaalmaanlabaibdacietamumtuemviveadsienneerjuek"
        "reikospiakgaotkuitteusauijizdzmuajzinirokomimesktoprdiejeligeibuuridktuzdelspeeciltrksbiap"
        "avutedntruontsegsumsjoguojivspimginuzeleevsertacsoorabklazluomolodrszadrcensicrbdolokipogr"
        "udbejittezduzsulrmtbldeprpopsm"
    ),
    "Dutch": (
        "eneterdeeeieheaateanijatgejedaiselarweinoomeoebeiknialstveorwalechndonvaredimalizeomebkevo"
        "itesngroneophintmojnedlardmiemrillzihawinansoutihtzoraeguiilnoashodoeiektoiglsgakarsscefts"
        "ogevkoagrtpejkadldaktaseacuwftoflonkunovbiecamurotprnnktwoeuoltrezulspidrugrvrrgokparkhult"
        "gobbkunussvijoblzadrjiicbaodbo"
    ),
    "Portuguese": (
        "esarqudeueraosasteertastcoreemmaseaodoennaumisorcantmodapametopoamsssaomalaniainelrieisoon"
        "adeuhaounovaveroailapetitrirnhdindprleuaacecithociceuiicfaavnsmilhatodncviidvofigutuliimoi"
        "gafobeabsiolizzeiogortmpmuheegapazchunlorrnebaociligivevjausbrsuscurrmniagbozalgaqudulobsp"
        "nuutrdedcuetfegrcrltezgemboaea"
    ),
}
_CYRILLIC = {
    "Russian": (
        "тонеонэттынанопоаккадатечтотсткониталиесрововымычеерпрмоитдесегоемограосолсленважельетоимн"
        "всгдтьмудориораиомочодзадиреоввееласожамавинегламеобнуисхотиалбелолебоскатедиланудктидаяма"
        "иммиоесьбытвебтрпешьвиажикыисяькняеиокичарныешкичашеадазжиднужжнсоиеспсиашньпазвачошкубурь"
        "лячиездуозннщеоябраеепкрлюиззн"
    ),
}
_ARABIC = {
    "Arabic": (
        "الانلانامالممنعلذالكليهذفيينايياواارهالىنتبااتامكنرينينهيدوناعقدوللقلتاسراكاديستيرعناذاباح"
        "اكسيسايةلناخلومعيكيسكلمرمكتعذهلههليمهنيعبيتيللاجقاحدرةتراومليقميهمذلادلسلديلعداءلععريهكوتا"
        "رفاقتقعادالحتحعمبعتكاففعيتهونكتمشيلذلبرجننوملةقوموحيجلتهقيحاوقدووردةيفكيقتعتعيحتبرتلمتربكم"
        "دمبدهيمسروركتواهجايوخرطيلفبليب"
    ),
    "Persian": (
        "انارراالماامایستواباریاسیدوردالاناندابدندراتروقاادینازتالینیکاسااقیردهیااوبررهونویفرولاهنه"
        "ترافردمتنگمندیتنزاتومیاکاشسیبهبیموودشاپامرتییلهالووزدومهرتجاسرنوگاگرفتفامسلهخازیمقرمشیکراع"
        "تهربیمپریسیواخرسکواءیهیتاجعابوخووسگینجرنشتیزوشاحفیشککیگوسوپینتملهریکرکمعکنختنبمحوموبغاحاتم"
        "هیلترگیبرفبلخرشویشقیوترشسممدکل"
    ),
}


def _pairs(letters: str) -> frozenset[str]:
    return frozenset(letters[at : at + 2] for at in range(0, len(letters), 2))


LATIN = tuple(map(_pairs, _LATIN.values()))
CYRILLIC = tuple(map(_pairs, _CYRILLIC.values()))
ARABIC = tuple(map(_pairs, _ARABIC.values()))
