"""The verbs, with the nouns that can be their subjects and objects.

All French past tenses here are formed with avoir and no object precedes its verb, so participles
never agree.
"""

from __future__ import annotations

from regard.corpus.grammar.entry import Activity, State, Verb
from regard.corpus.grammar.nouns import matching

EVENTS = """
crossed cross traversé 穿过 | person animal vehicle | way
reached reach atteint 到达 | person animal vehicle | way shelter
left leave quitté 离开 | person animal | way shelter
avoided avoid évité 避开 | person animal vehicle | way
explored explore exploré 探索 | person animal | way shelter
chose choose choisi 选择 | person | shelter thing food way
roamed roam parcouru 走遍 | person animal | forest park valley desert beach swamp field street
visited visit visité 参观 | person | shelter -cave -garage
built build construit 建造 | person | shelter bridge -cave -kitchen
cleaned clean nettoyé 打扫 | person | shelter courtyard -cave
robbed rob dévalisé 抢劫 | thief soldier sailor | shop museum hotel house restaurant station
damaged damage endommagé 损坏 | person vehicle | vehicle thing
blocked block bloqué 堵住 | vehicle | way
followed follow suivi 跟踪 | person animal | person animal vehicle
chased chase poursuivi 追赶 | animal person | animal
caught catch attrapé 抓住 | person animal | animal
fed feed nourri 喂 | person | animal
attacked attack attaqué 攻击 | animal | animal person
licked lick léché 舔 | animal | animal
saw see vu 看见 | person animal | person animal vehicle flora shelter thing
heard hear entendu 听见 | person animal | animal vehicle person song
observed observe observé 观察 | person animal | animal person vehicle shelter
photographed photograph photographié 拍摄 | person | animal shelter flora way
drew draw dessiné 画 | person | animal flora shelter map
protected protect protégé 保护 | person animal | animal person
met meet rencontré 遇见 | person | person
helped help aidé 帮助 | person | person
invited invite invité 邀请 | person | person
thanked thank remercié 感谢 | person | person
greeted greet salué 问候 | person | person
recognized recognize reconnu 认出 | person | person animal
congratulated congratulate félicité 祝贺 | person | person
betrayed betray trahi 背叛 | person | king queen prince princess soldier sister
overthrew overthrow renversé 推翻 | soldier prince guard | king queen
bought buy acheté 买 | person | thing vehicle food text
sold sell vendu 卖掉 | person | thing vehicle
found find trouvé 找到 | person animal | thing animal food
lost lose perdu 弄丢 | person | thing text
stole steal volé 偷走 | person | thing vehicle food text
hid hide caché 藏起 | person animal | thing food
borrowed borrow emprunté 借 | person | thing book dictionary map vehicle
broke break cassé 弄坏 | person animal | thing
repaired repair réparé 修理 | person | vehicle piano clock lamp guitar door chair table ladder
replaced replace remplacé 更换 | person | wheel door window lamp clock mirror keyboard carpet
installed install installé 安装 | person | door window mirror lamp bed clock
removed remove enlevé 移除 | person | carpet door wheel plank mirror lamp
polished polish poli 擦亮 | person | mirror lamp clock statue table piano
engraved engrave gravé 雕刻 | person | stone plank statue
hammered hammer martelé 敲打 | person | plank stone wheel barrel
used use utilisé 使用 | person | hammer shovel ladder knife rope bucket machine keyboard
carried carry porté 搬运 | person animal | thing
moved move déplacé 移动 | person animal | thing
pushed push poussé 推 | person animal | thing cart
pulled pull tiré 拉 | person animal | thing cart
lifted lift soulevé 举起 | person animal | thing
touched touch touché 触摸 | person animal | thing animal
overturned overturn renversé 打翻 | person animal | thing
transported transport transporté 运送 | vehicle | thing
delivered deliver livré 送来 | person vehicle | thing
deposited deposit déposé 存放 | person | thing text
washed wash lavé 清洗 | person | vehicle bottle bucket carpet window food animal
opened open ouvert 打开 | person | door window box bottle suitcase letter book umbrella cage bag
closed close fermé 关上 | person | door window box suitcase cage
hit hit frappé 击打 | person | ball drum stone
threw throw lancé 扔 | person | ball stone
pressed press enfoncé 按下 | person | button
ate eat mangé 吃 | person animal | food
tasted taste goûté 品尝 | person animal | food drink
swallowed swallow avalé 吞下 | person animal | food
finished finish fini 吃完 | person animal | food
prepared prepare préparé 准备 | person | food drink document
ordered order commandé 订购 | person | food thing
refused refuse refusé 拒绝 | person | food contract
weighed weigh pesé 称 | person | food thing
heated heat chauffé 加热 | person | meat chicken pie sausage milk water
dissolved dissolve dissous 溶解 | chemist scientist student | salt sugar iron
drank drink bu 喝 | person animal | drink
poured pour versé 倒 | person | drink
measured measure mesuré 测量 | person | thing shelter way
dug dig creusé 挖 | person animal | hole tunnel canal
planted plant planté 种 | person | flora
watered water arrosé 浇 | person | flora garden
picked pick cueilli 采摘 | person | flower rose tulip apple pear cherry peach lemon tomato mushroom
climbed climb escaladé 爬上 | person animal | hill wall tower tree oak pine ladder
split split fendu 劈开 | person | plank stone oak pine
transplanted transplant transplanté 移植 | gardener farmer scientist | flora
bandaged bandage bandé 包扎 | doctor nurse surgeon soldier mechanic | body
massaged massage massé 按摩 | person | body
injured injure blessé 弄伤 | person animal | person animal
stretched stretch étiré 拉伸 | athlete dancer player coach nurse | arm leg back neck
raised raise levé 抬起 | person | arm finger hand leg knee shoulder
examined examine examiné 检查 | person | thing text body animal vehicle
read read lu 阅读 | person | text
wrote write écrit 写 | person | text -map -dictionary
signed sign signé 签署 | person | contract treaty law document letter
translated translate traduit 翻译 | person | text -map
copied copy copié 抄写 | person | text
burned burn brûlé 烧毁 | person | text barn cabin warehouse
forgot forget oublié 忘记 | person | text umbrella suitcase bag occasion
recorded record enregistré 录制 | person | song story
ignored ignore ignoré 忽视 | person | person law
tuned tune accordé 调试 | person | piano guitar drum
extinguished extinguish éteint 熄灭 | person | candle fire lamp
won win gagné 赢得 | player athlete coach prince princess | race
cancelled cancel annulé 取消 | person | occasion
postponed postpone reporté 推迟 | person | occasion
organized organize organisé 组织 | person | occasion
missed miss manqué 错过 | person | occasion train bus boat
watched watch regardé 观看 | person | concert race wedding
produced produce produit 生产 | farmer machine robot engineer | cheese milk sugar bicycle bottle
"""

STATES = """
like likes aime aiment 喜欢 . | person animal | person animal food thing way shelter season
hate hates déteste détestent 讨厌 . | person animal | person animal food season
know knows connaît connaissent 认识 . | person | person
see sees voit voient 看见 看不见 | person animal | person animal vehicle shelter tree
want wants veut veulent 想要 . | person | thing food vehicle
fear fears craint craignent 惧怕 . | person animal | animal
admire admires admire admirent 欣赏 . | person | person painting statue castle palace poem
respect respects respecte respectent 尊重 . | person | person law
understand understands comprend comprennent 理解 . | person | person text
follow follows suit suivent 跟着 . | person animal | person animal vehicle
"""

ACTIVITIES = """
sleeping dormait dormaient 睡觉 | person animal
eating mangeait mangeaient 吃东西 | person animal
playing jouait jouaient 玩耍 | person animal
running courait couraient 奔跑 | person animal
waiting attendait attendaient 等待 | person animal
swimming nageait nageaient 游泳 | person duck frog otter beaver turtle dog bear
working travaillait travaillaient 工作 | person
singing chantait chantaient 唱歌 | person
dancing dansait dansaient 跳舞 | person bear
crying pleurait pleuraient 哭泣 | person
shouting criait criaient 喊叫 | person
laughing riait riaient 大笑 | person
dreaming rêvait rêvaient 做梦 | person animal
fishing pêchait pêchaient 钓鱼 | person
traveling voyageait voyageaient 旅行 | person
"""

ATTITUDES = """
think thinks pense pensent 认为
say says dit disent 说
know knows sait savent 知道
believe believes croit croient 相信
claim claims affirme affirment 声称
explain explains explique expliquent 解释说
"""

TRANSFERS = """
gave donné 送给
sold vendu 卖给
lent prêté 借给
sent envoyé 寄给
brought apporté 带给
"""


def _events() -> dict[str, Verb]:
    found = {}
    for line in EVENTS.strip().splitlines():
        words, subjects, objects = line.split(" | ")
        past, base, participle, chinese = words.split()
        found[past] = Verb(past, base, participle, chinese, matching(subjects), matching(objects))
    return found


def _states() -> dict[str, State]:
    found = {}
    for line in STATES.strip().splitlines():
        words, subjects, objects = line.split(" | ")
        base, third, french, plural, chinese, negative = words.split()
        negative = "" if negative == "." else negative
        nouns = matching(subjects), matching(objects)
        found[third] = State(base, third, french, plural, chinese, negative, *nouns)
    return found


def _activities() -> dict[str, Activity]:
    found = {}
    for line in ACTIVITIES.strip().splitlines():
        words, subjects = line.split(" | ")
        english, french, plural, chinese = words.split()
        found[english] = Activity(english, french, plural, chinese, matching(subjects))
    return found


def _attitudes() -> dict[str, State]:
    people = matching("person")
    found = {}
    for line in ATTITUDES.strip().splitlines():
        base, third, french, plural, chinese = line.split()
        found[third] = State(base, third, french, plural, chinese, "", people, ())
    return found


def _transfers() -> dict[str, Verb]:
    people, gifts = (
        matching("person"),
        matching("thing text -door -window -law -treaty -song -story"),
    )
    found = {}
    for line in TRANSFERS.strip().splitlines():
        past, participle, chinese = line.split()
        found[past] = Verb(past, "", participle, chinese, people, gifts)
    return found


EVENT_VERBS = _events()
STATE_VERBS = _states()
ACTIVITY_VERBS = _activities()
ATTITUDE_VERBS = _attitudes()
TRANSFER_VERBS = _transfers()
