"""`regard spell`: continue a word letter by letter."""

from regard.tasks.commands import add_model, open_model


def configure(parser):
    """Add this command's arguments."""
    parser.add_argument("word", metavar="WORD", help="beginning of the word")
    add_model(parser)


def run(arguments):
    """Print the word."""
    print(open_model(arguments.model, "spell", arguments.threads).spell(arguments.word))
    return 0
