/**
 * `npm run test:area -- clients`: clients of the Management API that openapi-python-client, oapi-codegen and openapi-generator (Java)
 * make from its document compile, and each makes five calls to a gateway. The generators come from PyPI, Go's proxy and Maven
 * Central. With `--where-possible` a language that this machine lacks is no failure but a line that says why.
 */
import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import type { Stack } from "../../infra/local/stack.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { isOptional, must } from "../tiers/optional-area.ts";
import { endWith, SKIPPED } from "../tiers/run-phases.ts";

const HERE = import.meta.dirname;
const PYTHON_GENERATOR = "openapi-python-client==0.29.1";
const GO_GENERATOR = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";
const GO_RUNTIME = "github.com/oapi-codegen/runtime@v1.9.0";
const JAVA_GENERATOR = { name: "openapi-generator-cli", version: "7.25.0" } as const;
const MAVEN = ["mvn", "-q", "-B", "-Dstyle.color=never"] as const;
const JAVA_RUNNER = "org.codehaus.mojo:exec-maven-plugin:3.5.0:java";

/**
 * What the five calls show: they create a tenant and its key, change the tenant, read it and delete it. Its access starts and ends
 * with the first and the last time that an answer can have; the key has no end.
 */
const SHOWN = {
  secret: true,
  weight: 70,
  budget_cost_usd: 0.05,
  active_years: [1, 9999],
  is_made_now: true,
  is_endless: true,
  deleted: 204,
} as const;

interface Language {
  readonly name: string;
  /** Commands that end well where this machine has the language. */
  readonly needs: readonly (readonly [command: string, ...args: string[]])[];
  /** Generates the client in the folder and compiles it with its calls. Returns the command that makes them. */
  readonly build: (folder: string, document: string) => readonly [command: string, ...args: string[]];
}

/** Runs a shell command in a folder; throws what it says when it fails. */
function run(folder: string, command: string, ...args: readonly string[]): void {
  must("env", "-C", folder, command, ...args);
}

const PYTHON: Language = {
  name: "Python",
  needs: [["python3", "-c", "import venv, ensurepip"]],
  build: (folder, document) => {
    const [python, config] = [join(folder, "venv/bin/python"), join(folder, "config.yml")];
    writeFileSync(config, "package_name_override: gateway_api\npost_hooks: []\n");
    run(folder, "python3", "-m", "venv", "venv");
    run(folder, python, "-m", "pip", "install", "--quiet", PYTHON_GENERATOR);
    const paths = ["--path", document, "--config", config, "--output-path", "gateway_api"];
    const generator = join(folder, "venv/bin/openapi-python-client");
    run(folder, generator, "generate", ...paths, "--meta", "none", "--fail-on-warning");
    run(folder, python, "-m", "compileall", "-q", "gateway_api");
    cpSync(join(HERE, "calls.py"), join(folder, "calls.py"));
    return [python, "calls.py"];
  },
};

const GO: Language = {
  name: "Go",
  needs: [["go", "version"]],
  build: (folder, document) => {
    mkdirSync(join(folder, "api"));
    cpSync(join(HERE, "calls.go"), join(folder, "calls.go"));
    run(folder, "go", "mod", "init", "clients");
    const words = ["-generate", "types,client", "-package", "api", "-o", "api/client.go", document];
    run(folder, "go", "run", GO_GENERATOR, ...words);
    run(folder, "go", "get", GO_RUNTIME);
    run(folder, "go", "mod", "tidy");
    run(folder, "go", "build", "-o", "calls", ".");
    return [join(folder, "calls")];
  },
};

const JAVA: Language = {
  name: "Java",
  needs: [
    ["java", "-version"],
    ["mvn", "--version"],
  ],
  build: (folder, document) => {
    const { name, version } = JAVA_GENERATOR;
    const artifact = `-Dartifact=org.openapitools:${name}:${version}`;
    run(folder, ...MAVEN, "dependency:copy", artifact, `-DoutputDirectory=${folder}`);
    const packages = "apiPackage=gateway.api,modelPackage=gateway.model,invokerPackage=gateway.client";
    const words = ["-g", "java", "--library", "native", "-o", ".", "--additional-properties", packages];
    run(folder, "java", "-jar", `${name}-${version}.jar`, "generate", "-i", document, ...words);
    cpSync(join(HERE, "Calls.java"), join(folder, "src/main/java/Calls.java"));
    run(folder, ...MAVEN, "compile");
    return [...MAVEN, JAVA_RUNNER, "-Dexec.mainClass=Calls"];
  },
};

endWith(await clients([PYTHON, GO, JAVA]));

async function clients(languages: readonly Language[]): Promise<number> {
  const present = languages.filter(({ needs }) =>
    needs.every(([command, ...args]) => spawnSync(command, args).status === 0),
  );
  const missing = languages.filter((language) => !present.includes(language));
  for (const { name } of missing)
    process.stdout.write(`skipped: this machine has no ${name} to generate a client in\n`);
  if (missing.length > 0 && (!isOptional || present.length === 0)) return isOptional ? SKIPPED : 1;
  const folder = mkdtempSync(join(tmpdir(), "gateway-clients-"));
  const stack = await startTestStack();
  try {
    const document = join(folder, "openapi.json");
    writeFileSync(document, await (await fetch(`${stack.adminUrl}/api/v1/openapi.json`)).text());
    let failed = 0;
    for (const language of present)
      if (!(await worksIn(language, join(folder, language.name), document, stack))) failed += 1;
    return failed === 0 ? 0 : 1;
  } finally {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function worksIn({ name, build }: Language, folder: string, document: string, stack: Stack): Promise<boolean> {
  mkdirSync(folder);
  try {
    const [command, ...args] = build(folder, document);
    const env = { ...process.env, GATEWAY_URL: stack.adminUrl, GATEWAY_TOKEN: stack.adminToken };
    const { stdout } = await promisify(execFile)(command, args, { cwd: folder, env });
    // Maven puts a sequence of its own around it.
    const shown: unknown = JSON.parse(stdout.slice(stdout.indexOf("{"), stdout.lastIndexOf("}") + 1));
    if (!isDeepStrictEqual(shown, SHOWN)) throw new Error(`the calls showed ${stdout}, not ${JSON.stringify(SHOWN)}`);
    process.stdout.write(`${name}: a generated client compiles, and its five calls are right\n`);
    return true;
  } catch (error) {
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    return false;
  }
}
