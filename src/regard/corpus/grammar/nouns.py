"""The nouns, by kind: English, French, gender, Chinese, measure word.

The kinds are what verbs and adjectives choose by. Kinds that take part in coreference (animal,
vehicle, way, shelter, thing, food) have about as many masculine as feminine nouns.
"""

from __future__ import annotations

from collections.abc import Iterable

from regard.corpus.grammar.entry import Noun, noun, rows

PERSON = """
man/men homme m 男人 个
woman/women femme f 女人 个
boy garçon m 男孩 个
girl fille f 女孩 个
child/children enfant m 孩子 个
doctor médecin m 医生 个
nurse infirmière f 护士 个
surgeon chirurgien m 外科医生 个
teacher professeur m 老师 个
student étudiant m 学生 个
farmer agriculteur m 农夫 个
gardener jardinier m 园丁 个
baker boulanger m 面包师 个
cook cuisinier m 厨师 个
waitress serveuse f 女服务员 个
king roi m 国王 个
queen reine f 女王 个
prince prince m 王子 个
princess princesse f 公主 个
soldier soldat m 士兵 个
guard gardien m 保安 个
thief/thieves voleur m 小偷 个
artist artiste m 艺术家 个
writer écrivain m 作家 个
musician musicien m 音乐家 个
singer chanteuse f 歌手 个
dancer danseuse f 舞者 个
actress actrice f 女演员 个
driver chauffeur m 司机 个
mechanic mécanicien m 机械师 个
engineer ingénieur m 工程师 个
carpenter menuisier m 木匠 个
lawyer avocat m 律师 个
judge juge m 法官 个
secretary secrétaire f 秘书 个
chemist chimiste m 化学家 个
scientist savant m 科学家 个
hunter chasseur m 猎人 个
fisherman/fishermen pêcheur m 渔夫 个
sailor marin m 水手 个
explorer explorateur m 探险家 个
tourist touriste m 游客 个
merchant marchand m 商人 个
jeweler bijoutière f 珠宝商 个
neighbor voisine f 邻居 个
sister sœur f 姐姐 个
player joueur m 球员 个
coach entraîneur m 教练 个
athlete athlète m 运动员 个
witch sorcière f 女巫 个
"""

ANIMAL = """
animal animal m 动物 只
dog chien m 狗 只
cat chat m 猫 只
horse cheval m 马 匹
donkey âne m 驴 头
wolf/wolves loup m 狼 只
fox renard m 狐狸 只
rabbit lapin m 兔子 只
bear ours m 熊 只
lion lion m 狮子 头
tiger tigre m 老虎 只
elephant éléphant m 大象 头
monkey singe m 猴子 只
pig cochon m 猪 头
duck canard m 鸭子 只
bird oiseau m 鸟 只
snake serpent m 蛇 条
camel chameau m 骆驼 头
squirrel écureuil m 松鼠 只
beaver castor m 河狸 只
creature créature f 生物 只
mouse/mice souris f 老鼠 只
cow vache f 奶牛 头
goat chèvre f 山羊 只
turtle tortue f 乌龟 只
frog grenouille f 青蛙 只
giraffe girafe f 长颈鹿 只
hen poule f 母鸡 只
ant fourmi f 蚂蚁 只
bee abeille f 蜜蜂 只
spider araignée f 蜘蛛 只
goose/geese oie f 鹅 只
owl chouette f 猫头鹰 只
panther panthère f 黑豹 只
hyena hyène f 鬣狗 只
ewe brebis f 绵羊 只
otter loutre f 水獭 只
gazelle gazelle f 羚羊 只
mule mule f 骡子 头
weasel belette f 黄鼠狼 只
"""

VEHICLE = """
truck camion m 卡车 辆
bus bus m 公交车 辆
train train m 火车 列
tractor tracteur m 拖拉机 辆
taxi taxi m 出租车 辆
robot robot m 机器人 个
tram tramway m 电车 辆
scooter scooter m 踏板车 辆
car voiture f 汽车 辆
van camionnette f 面包车 辆
motorcycle moto f 摩托车 辆
ambulance ambulance f 救护车 辆
cart charrette f 马车 辆
machine machine f 机器 台
bicycle bicyclette f 自行车 辆
caravan caravane f 房车 辆
"""

WAY = """
bridge pont m 桥 座
field champ m 田野 片
path chemin m 小路 条
tunnel tunnel m 隧道 条
canal canal m 运河 条
trail sentier m 小径 条
park parc m 公园 个
desert désert m 沙漠 片
boulevard boulevard m 大道 条
swamp marais m 沼泽 片
garden jardin m 花园 个
stream ruisseau m 小溪 条
street rue f 街道 条
road route f 马路 条
river rivière f 河流 条
valley vallée f 山谷 个
square place f 广场 个
beach plage f 海滩 片
highway autoroute f 高速公路 条
avenue avenue f 林荫道 条
courtyard cour f 院子 个
forest forêt f 森林 片
alley ruelle f 小巷 条
hill colline f 山丘 座
"""

SHELTER = """
castle château m 城堡 座
hotel hôtel m 酒店 家
garage garage m 车库 个
warehouse entrepôt m 仓库 个
building bâtiment m 大楼 座
palace palais m 宫殿 座
hospital hôpital m 医院 家
restaurant restaurant m 餐厅 家
theater théâtre m 剧院 家
museum musée m 博物馆 家
shop magasin m 商店 家
house maison f 房子 座
barn grange f 谷仓 个
cave grotte f 山洞 个
cabin cabane f 木屋 间
tower tour f 塔楼 座
church église f 教堂 座
school école f 学校 所
station gare f 车站 个
library bibliothèque f 图书馆 座
farm ferme f 农场 个
kitchen cuisine f 厨房 间
"""

THING = """
basket panier m 篮子 个
bag sac m 袋子 个
barrel tonneau m 木桶 个
mirror miroir m 镜子 面
vase vase m 花瓶 个
piano piano m 钢琴 架
carpet tapis m 地毯 块
bed lit m 床 张
desk bureau m 书桌 张
painting tableau m 油画 幅
drum tambour m 鼓 面
sofa canapé m 沙发 张
hammer marteau m 锤子 把
knife/knives couteau m 刀子 把
umbrella parapluie m 雨伞 把
ball ballon m 球 个
bucket seau m 水桶 个
keyboard clavier m 键盘 个
box boîte f 盒子 个
stone pierre f 石头 块
chair chaise f 椅子 把
table table f 桌子 张
statue statue f 雕像 尊
lamp lampe f 台灯 盏
suitcase valise f 行李箱 个
ladder échelle f 梯子 架
rope corde f 绳子 根
clock horloge f 时钟 个
bottle bouteille f 瓶子 个
wheel roue f 轮子 个
door porte f 门 扇
window fenêtre f 窗户 扇
guitar guitare f 吉他 把
shovel pelle f 铲子 把
plank planche f 木板 块
cage cage f 笼子 个
"""

FOOD = """
cake gâteau m 蛋糕 个
bread pain m 面包 -
cheese fromage m 奶酪 -
melon melon m 甜瓜 个
sandwich sandwich m 三明治 个
cookie biscuit m 饼干 块
egg œuf m 鸡蛋 个
ham jambon m 火腿 -
chicken poulet m 鸡肉 -
lemon citron m 柠檬 个
crab crabe m 螃蟹 只
mushroom champignon m 蘑菇 个
apple pomme f 苹果 个
pear poire f 梨 个
pie tarte f 馅饼 个
salad salade f 沙拉 份
meat viande f 肉 -
carrot carotte f 胡萝卜 根
tomato tomate f 西红柿 个
banana banane f 香蕉 根
cherry cerise f 樱桃 颗
sausage saucisse f 香肠 根
peach pêche f 桃子 个
trout truite f 鳟鱼 条
"""

TEXT = """
book livre m 书 本
newspaper journal m 报纸 份
contract contrat m 合同 份
poem poème m 诗 首
document document m 文件 份
dictionary dictionnaire m 词典 本
treaty traité m 条约 份
letter lettre f 信 封
song chanson f 歌 首
story histoire f 故事 个
map carte f 地图 张
law loi f 法律 部
"""

BODY = """
arm bras m 手臂 条
back dos m 背部 个
neck cou m 脖子 个
finger doigt m 手指 根
knee genou m 膝盖 个
hand main f 手 只
shoulder épaule f 肩膀 个
cheek joue f 脸颊 个
leg jambe f 腿 条
"""

FLORA = """
tree arbre m 树 棵
oak chêne m 橡树 棵
pine pin m 松树 棵
bush buisson m 灌木 丛
flower fleur f 花 朵
rose rose f 玫瑰 朵
tulip tulipe f 郁金香 朵
"""

OCCASION = """
concert concert m 音乐会 场
trip voyage m 旅行 次
wedding mariage m 婚礼 场
party fête f 聚会 场
meeting réunion f 会议 场
race course f 赛跑 场
"""

SEASON = """
summer été m 夏天 个
autumn automne m 秋天 个
winter hiver m 冬天 个
"""

DRINK = """
water eau f 水 -
milk lait m 牛奶 -
tea thé m 茶 -
juice jus m 果汁 -
"""

SUBSTANCE = """
carbon_dioxide dioxyde_de_carbone m 二氧化碳 -
oxygen oxygène m 氧气 -
hydrogen hydrogène m 氢气 -
iron fer m 铁 -
gold or m 金 -
salt sel m 盐 -
sugar sucre m 糖 -
"""

PART = """
hole trou m 洞 个
wall mur m 墙 堵
candle bougie f 蜡烛 根
fire feu m 火 堆
button bouton m 按钮 个
boat bateau m 船 艘
"""

TABLES = {
    "person": PERSON,
    "animal": ANIMAL,
    "vehicle": VEHICLE,
    "way": WAY,
    "shelter": SHELTER,
    "thing": THING,
    "food": FOOD,
    "text": TEXT,
    "body": BODY,
    "flora": FLORA,
    "occasion": OCCASION,
    "season": SEASON,
    "drink": DRINK,
    "substance": SUBSTANCE,
    "part": PART,
}

KINDS: dict[str, tuple[Noun, ...]] = {
    kind: tuple(noun(columns, kind) for columns in rows(table)) for kind, table in TABLES.items()
}
NOUNS: dict[str, Noun] = {entry.english: entry for kind in KINDS.values() for entry in kind}

PLURAL_KINDS = frozenset({"person", "animal"})
"""Kinds used in the plural too; the others stay singular, which keeps the vocabulary small."""


def matching(names: str | Iterable[str]) -> tuple[Noun, ...]:
    """Nouns by a list of kinds and English words, less those with a minus before them.

    >>> [entry.english for entry in matching("season -winter fire")]
    ['summer', 'autumn', 'fire']
    """
    listed = names.split() if isinstance(names, str) else list(names)
    without = {name[1:] for name in listed if name.startswith("-")}
    found: dict[str, Noun] = {}
    for name in listed:
        if not name.startswith("-"):
            for entry in KINDS.get(name) or (NOUNS[name],):
                found[entry.english] = entry
    return tuple(entry for name, entry in found.items() if name not in without)
