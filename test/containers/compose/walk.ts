/** The commands with which docs/containers.md leads from a fresh machine to a cluster. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const PAGE = join(import.meta.dirname, "../../../docs/containers.md");
const HEAD = "### Three instances on a fresh machine\n";

/** What each line of the block of commands does. */
interface Walk {
  /** Installs the packages of Debian. */
  readonly install: string;
  /** Makes the secrets, in the folder of the project. */
  readonly secrets: string;
  /** `docker compose` with its files, without the word of what to do. */
  readonly compose: string;
  /** What to do: starts everything. */
  readonly up: string;
}

/** Reads them. Throws when the page has other commands than those that are run here. */
export function readWalk(): Walk {
  const text = readFileSync(PAGE, "utf8");
  const block = /```sh\n([^`]*)```/.exec(text.slice(text.indexOf(HEAD) + HEAD.length))?.[1] ?? "";
  const lines = block
    .replaceAll("\\\n", "")
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").replaceAll(/\s+/g, " "))
    .filter((line) => line !== "");
  const [install = "", fetched = "", start = ""] = lines;
  const secrets = /^git clone \S+ gateway && cd gateway && (npm run containers:secrets)$/.exec(fetched)?.[1];
  const [, compose, up] = /^(docker compose(?: -f \S+)+) (up .*)$/.exec(start) ?? [];
  if (!HEAD || lines.length !== 3 || !install.startsWith("apt-get install ") || !secrets || !compose || !up)
    throw new Error(`docs/containers.md has other commands than three that are known here: ${lines.join(" | ")}`);
  return { install: install.replace("install ", "install -y -qq "), secrets, compose, up };
}
