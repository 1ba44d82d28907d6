"""A real server beside the worst requests known: are honest clients, health and memory spared?"""
