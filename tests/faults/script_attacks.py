"""What members could try with a script: in Python each gets hold of a secret, leaves a file, or visits the secret page.

Starlark reads like Python, so the same texts serve as their own control: ``python_room`` runs them in Python, where they must
succeed.
"""

from __future__ import annotations

from tests.faults.sandbox_attacks import ENVIRONMENT_VARIABLE, SECRET, Surroundings

_SUBCLASSES = "().__class__.__base__.__subclasses__()"


def script_attacks(at: Surroundings) -> dict[str, str]:
    file = f"{at.folder}/secret.txt"
    loot = f"{at.folder}/loot.xml"
    return {
        "open": returning(f"open('{file}').read()"),
        "write": returning(f"str(open('{loot}', 'w').write('x'))"),
        "import os": "import os\n" + returning(f"os.environ['{ENVIRONMENT_VARIABLE}']"),
        "import in the function": f"def route(message):\n    import os\n    return os.environ['{ENVIRONMENT_VARIABLE}']\n",
        "__import__": returning(f"__import__('os').environ['{ENVIRONMENT_VARIABLE}']"),
        "from import": f"from pathlib import Path\n{returning(f'Path({file!r}).read_text()')}",
        "page": "from urllib.request import urlopen\n" + returning(f"urlopen('{at.page}').read().decode()"),
        "socket": f"def route(message):\n    from http.client import HTTPConnection\n"
        f"    page = HTTPConnection('{at.server.removeprefix('http://')}')\n    page.request('GET', '/secret')\n"
        "    return page.getresponse().read().decode()\n",
        "eval": returning(f"""eval("open('{file}').read()")"""),
        "exec": f"""def route(message):\n    told = {{}}\n    exec("x = open('{file}').read()", told)\n    return told['x']\n""",
        "builtins": returning(f"__builtins__['open']('{file}').read()"),
        "subclasses": returning(
            f"[one for one in {_SUBCLASSES} if one.__name__ == 'FileLoader'][0]('a', '{file}').get_data('{file}').decode()"
        ),
        "globals of a function": returning(f"route.__globals__['__builtins__']['open']('{file}').read()"),
        "getattr": returning(
            f"getattr(getattr(route, '__globals__')['__builtins__']['open']('{file}'), 're' + 'ad')()"
        ),
        "format": returning("'{0.__globals__[secret]}'.format(route)") + f"secret = open('{file}').read()\n",
        "told by an error": f"def route(message):\n    return {{}}[open('{file}').read()]\n",
        "while it is defined": f"stolen = open('{file}').read()\n" + returning("stolen"),
        "frame": "import sys\n" + returning(f"sys._getframe(1).f_builtins['op' + 'en']('{file}').read()"),
        "subprocess": "import subprocess\n"
        + returning(f"subprocess.run(['/bin/cat', '{file}'], capture_output = True).stdout.decode()"),
    }


def returning(expression: str) -> str:
    return f"def route(message):\n    return {expression}\n"


# Loads are no Python; without a loader there is nothing that they could load, and none of these may say otherwise.
def loads(at: Surroundings) -> list[str]:
    names = ["os", "message", "meaning", "@stdlib//os", f"{at.folder}/secret.txt", at.text, at.page]
    return [f"load('{name}', 'environ')\n{returning(repr(SECRET))}" for name in names]
