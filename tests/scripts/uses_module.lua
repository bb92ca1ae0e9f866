print("module", require("answers").answer)
