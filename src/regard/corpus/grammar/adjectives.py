"""The adjectives: English, French masculine and feminine, Chinese after 很 and before 的, kinds.

See `entry.adjective` for the columns. The kinds decide which noun an adjective can be said of, and
so what an `it` can stand for.
"""

from __future__ import annotations

from regard.corpus.grammar.entry import Adjective, Noun, adjective, rows
from regard.corpus.grammar.nouns import KINDS

SIZE = """
small petit petite 小 = animal,vehicle,way,shelter,thing,flora
big grand grande 大 = animal,vehicle,way,shelter,thing,flora
beautiful beau/bel belle 美丽 . animal,way,shelter,flora
pretty joli jolie 漂亮 . thing,vehicle,shelter,animal
enormous énorme énorme 巨大 . animal,vehicle,thing,shelter,flora
magnificent magnifique magnifique 华丽 . shelter,thing
excellent excellent excellente 出色 . text,person
"""

QUALITY = """
tired fatigué fatiguée 累 疲倦 person,animal
exhausted épuisé épuisée 疲惫 . person,animal
hungry affamé affamée 饿 饥饿 person,animal
thirsty assoiffé assoiffée 渴 口渴 person,animal
sleepy somnolent somnolente 困 困倦 person,animal
frightened effrayé effrayée 害怕 . person,animal
nervous nerveux nerveuse 紧张 . person,animal
anxious inquiet inquiète 焦虑 . person,animal
shy timide timide 害羞 . person,animal
lazy paresseux paresseuse 懒 懒惰 person,animal
weak faible faible 虚弱 . person,animal
clumsy maladroit maladroite 笨拙 . person,animal
curious curieux curieuse 好奇 . person,animal
brave courageux courageuse 勇敢 . person,animal
cautious prudent prudente 谨慎 . person,animal
stubborn têtu têtue 固执 . person,animal
greedy gourmand gourmande 贪吃 . person,animal
impatient impatient impatiente 急躁 . person,animal
playful joueur joueuse 贪玩 . animal
angry furieux furieuse 愤怒 . person,animal
sad triste triste 难过 . person,animal
happy heureux heureuse 快乐 . person,animal
proud fier fière 骄傲 . person,animal
jealous jaloux jalouse 嫉妒 . person,animal
intelligent intelligent intelligente 聪明 . person,animal
famous célèbre célèbre 出名 著名 person,text
generous généreux généreuse 慷慨 . person
polite poli polie 礼貌 有礼貌 person
elegant élégant élégante 优雅 . person
patient patient patiente 耐心 . person
fluffy duveteux duveteuse 毛茸茸 . animal
wide large large 宽 宽阔 way
narrow étroit étroite 窄 狭窄 way,-desert,-forest,-swamp,-beach
crowded bondé bondée 拥挤 . shelter,lane,park,garden,square,beach,courtyard,tunnel
slippery glissant glissante 滑 湿滑 way,-desert,-forest,-valley
muddy boueux boueuse 泥泞 . way,-desert,-bridge,-boulevard
steep raide raide 陡 陡峭 lane,hill
bumpy cahoteux cahoteuse 颠簸 . lane,highway,bridge
winding sinueux sinueuse 曲折 . lane,brook,tunnel
flat plat plate 平坦 . lane,highway,field,square,beach,desert,courtyard,valley,park
deserted désert déserte 荒凉 . way,shelter
remote isolé isolée 偏僻 . way,shelter
distant lointain lointaine 遥远 . way,shelter
verdant verdoyant verdoyante 翠绿 . forest,valley,field,garden,park,hill
clear limpide limpide 清澈 . brook,drink
deep profond profonde 深 . brook,valley,tunnel,hole,cave
dark sombre sombre 暗 昏暗 shelter
damp humide humide 潮湿 . shelter
cramped exigu exiguë 狭小 . shelter
comfortable confortable confortable 舒适 . shelter,bed,sofa,chair
spacious spacieux spacieuse 宽敞 . shelter
luxurious luxueux luxueuse 豪华 . shelter
bright lumineux lumineuse 明亮 . shelter
heavy lourd lourde 重 沉重 thing,vehicle
bulky encombrant encombrante 笨重 . thing
fragile fragile fragile 易碎 . thing,-hammer,-stone,-rope,-shovel,-carpet,-ball,-bag
light léger légère 轻 轻便 thing
precious précieux précieuse 珍贵 . thing,text
shiny brillant brillante 闪亮 . thing
useless inutile inutile 没用 无用 thing,text
flexible souple souple 柔韧 . rope,plank
slow lent lente 慢 缓慢 vehicle
fast rapide rapide 快 快速 vehicle
noisy bruyant bruyante 吵 吵闹 vehicle,shelter
unstable instable instable 不稳 不稳定 vehicle
powerful puissant puissante 强大 . vehicle
modern moderne moderne 现代 . vehicle,shelter
reliable fiable fiable 可靠 . vehicle
salty salé salée 咸 . savoury,cookie,bread
bitter amer amère 苦 . food,drink
spicy épicé épicée 辣 . savoury,tomato
sour acide acide 酸 . fruit,tomato,salad,drink
greasy gras grasse 油腻 . savoury,cookie,cake,-salad,-mushroom
hard dur dure 硬 坚硬 bread,cheese,cookie,carrot,pear,stone,plank
bland fade fade 淡 清淡 food
sweet sucré sucrée 甜 香甜 fruit,cake,cookie,pie,carrot,drink,-lemon
delicious délicieux délicieuse 美味 . food,drink
fresh frais fraîche 新鲜 . food,drink
tasty savoureux savoureuse 可口 . food
ripe mûr mûre 成熟 . fruit,tomato
crispy croustillant croustillante 酥脆 . bread,cookie,apple,pie,salad,sausage,chicken
interesting intéressant intéressante 有趣 . text
boring ennuyeux ennuyeuse 无聊 . text,occasion
strange étrange étrange 奇怪 . animal,person,thing,text
sunny ensoleillé ensoleillée 晴朗 . season
mild doux douce 温和 . season
"""

AGE = """
old vieux/vieil vieille 老 = person,animal,flora,-child,-boy,-girl
young jeune jeune 年轻 . person
new nouveau/nouvel nouvelle 新 = vehicle,shelter,thing,text
"""

COLOUR = """
black noir noire 黑 黑色 animal,vehicle,thing
white blanc blanche 白 白色 animal,vehicle,thing,flora
gray gris grise 灰 灰色 animal,vehicle,thing
brown brun brune 棕 棕色 animal,thing
red rouge rouge 红 红色 vehicle,thing,flora
blue bleu bleue 蓝 蓝色 animal,vehicle,thing
green vert verte 绿 绿色 vehicle,thing
yellow jaune jaune 黄 黄色 vehicle,thing,flora
pink rose rose 粉 粉色 flora,thing
"""

GROUPS = {
    "lane": "path,trail,road,street,alley,avenue,boulevard",
    "brook": "river,stream,canal",
    "fruit": "melon,lemon,apple,pear,cherry,peach,banana",
    "savoury": "cheese,sandwich,egg,ham,chicken,crab,mushroom,pie,salad,meat,sausage,trout",
}
"""Nouns within a kind that can be alike."""


def _grouped(columns: list[str]) -> list[str]:
    kinds = ",".join(GROUPS.get(kind, kind) for kind in columns[-1].split(","))
    return [*columns[:-1], kinds]


ADJECTIVES: dict[str, Adjective] = {
    entry.english: entry
    for rank, order, table in ((0, 0, SIZE), (1, 1, QUALITY), (0, 2, AGE), (2, 3, COLOUR))
    for entry in (adjective(_grouped(columns), rank, order) for columns in rows(table))
}

CROWDED_INITIALS = frozenset("大小老")
"""大大象 and 小小路 read badly: nouns that begin so are never called big, small or old."""


def _attributes(noun: Noun) -> tuple[tuple[Adjective, ...], ...]:
    """The adjectives a noun can carry, by rank."""
    fitting = [
        entry
        for entry in ADJECTIVES.values()
        if entry.fits(noun)
        and (entry.particle or entry.english == "new" or noun.chinese[0] not in CROWDED_INITIALS)
    ]
    return tuple(tuple(e for e in fitting if e.rank == rank) for rank in range(3))


ATTRIBUTES: dict[str, tuple[tuple[Adjective, ...], ...]] = {
    noun.english: _attributes(noun) for nouns in KINDS.values() for noun in nouns
}


def named(names: str) -> tuple[Adjective, ...]:
    """Adjectives by their English words."""
    return tuple(ADJECTIVES[name] for name in names.split())
