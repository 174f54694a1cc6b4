/** The commands of docs/containers.md from a fresh machine to a cluster, and those of docs/rotate.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const DOCS = join(import.meta.dirname, "../../../docs");
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
  const text = readFileSync(join(DOCS, "containers.md"), "utf8");
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

/** What docs/rotate.md does to the files of secrets in each round, and the words of compose that follow. */
export function readComposeRotation(): { readonly rounds: readonly string[]; readonly restarts: readonly string[] } {
  const [, block = ""] =
    /```sh\n# compose, round 1([^`]*?)\n\n/.exec(readFileSync(join(DOCS, "rotate.md"), "utf8")) ?? [];
  const lines = block.split("\n");
  return {
    rounds: lines.filter((line) => line.startsWith("(cd ")),
    restarts: lines.flatMap((line) => /^docker compose -f infra\/containers\/compose.yaml (.*)$/.exec(line)?.[1] ?? []),
  };
}
