/** Reads the variables of all parts before any of them starts, so that one start names every variable that is wrong. */
import { checkControl } from "./control.ts";
import { readStackEnv, type StackConfig, StackEnvError } from "./env.ts";
import { checkBindings, workerBindings } from "./runtime.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** The launcher's configuration. Throws StackEnvError, which names the malformed variables of launcher, Worker and control service. */
export function readCheckedEnv(env: Variables, read = readAll): StackConfig {
  const own = problemOf(() => read(env));
  if ("value" in own) {
    refuse(problemsOfParts(own.value));
    return own.value;
  }
  const wrong = new Set(own.problem.variables);
  const rest = problemOf(() => read(Object.fromEntries(Object.entries(env).filter(([name]) => !wrong.has(name)))));
  // a rest that is wrong may be so only because it is a rest
  throw "value" in rest && wrong.size > 0
    ? new StackEnvError(inOneLine([own.problem.message, ...problemsOfParts(rest.value)]))
    : own.problem;
}

const readAll = (env: Variables): StackConfig => readStackEnv(env, process.cwd());

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new StackEnvError(inOneLine(problems));
}

function problemsOfParts(config: StackConfig): readonly string[] {
  const nowhere = { url: "http://127.0.0.1", token: "" };
  const analytics = { url: nowhere.url, user: "", password: "" };
  const bindings = workerBindings(
    { config, internalToken: "", internalTokenOld: undefined },
    nowhere,
    analytics,
    nowhere.url,
  );
  return [() => checkBindings(bindings), () => checkControl(config)].flatMap((check) => {
    const checked = problemOf(check);
    return "problem" in checked ? [checked.problem.message] : [];
  });
}

function problemOf<T>(work: () => T): { readonly value: T } | { readonly problem: StackEnvError } {
  try {
    return { value: work() };
  } catch (error) {
    if (error instanceof StackEnvError) return { problem: error };
    throw error;
  }
}

/** Each variable once: several parts read some of them. */
function inOneLine(problems: readonly string[]): string {
  const byVariable = new Map<string, string>();
  for (const problem of problems.flatMap((text) => text.split("; "))) {
    const [name = ""] = problem.split(" ", 1);
    if (!byVariable.has(name)) byVariable.set(name, problem);
  }
  return [...byVariable.values()].join("; ");
}
