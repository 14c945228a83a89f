"""Reading archives: journals, files and folders, cut into pieces and decoded into messages, with the directories they need."""
