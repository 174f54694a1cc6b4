/** Scripts are run by the shell itself, beside a listener that has the first port of the window. */
import { spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { jobScript } from "./job-script.ts";

const blank = { script_body: "", preamble: "", image: "", launch_command: "" };
const PORTS = 'echo "port $GATEWAY_SERVING_PORT"';

async function listen(): Promise<{ readonly port: number; readonly close: () => void }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  const address = server.address();
  return { port: typeof address === "object" && address !== null ? address.port : 0, close: () => server.close() };
}

const run = (script: string): string => {
  const { stdout, stderr } = spawnSync("bash", ["-s"], { input: script, encoding: "utf8" });
  return `${stdout}${stderr}`.trim();
};

it("skips a port in use, and reports when none is free", async () => {
  const { port, close } = await listen();
  expect(run(jobScript({ ...blank, launch_command: PORTS }, port, 8))).toMatch(new RegExp(`^port (?!${port}$)\\d+$`));
  expect(run(jobScript({ ...blank, launch_command: PORTS }, port, 1))).toBe(`no free port from ${port} to ${port}`);
  close();
});

it("puts the port part after the first line of a script, and changes nothing else", () => {
  const body = `#!/bin/sh\n#SBATCH --x\n${PORTS}`;
  const script = jobScript({ ...blank, script_body: body }, 20_000, 8);
  expect(script.startsWith("#!/bin/sh\ngateway_port=20000\n")).toBe(true);
  expect(script.endsWith(`\n#SBATCH --x\n${PORTS}`)).toBe(true);
});

it.each(["#!/usr/bin/env python3\nprint(1)", "#!/bin/csh\nls", `#!${"/".repeat(99_000)}`])(
  "leaves %s alone",
  (body) => {
    expect(jobScript({ ...blank, script_body: body }, 20_000, 8)).toBe(body);
  },
);

it.each(["#!/bin/bash", "#! /usr/bin/env bash", "#!/usr/bin/env -S bash -e", "#!/bin/bash -l"])(
  "knows the shell in %s",
  (line) => {
    expect(jobScript({ ...blank, script_body: `${line}\nls\n` }, 20_000, 8)).toContain("GATEWAY_SERVING_PORT");
  },
);

it("puts preamble, image and command in order", () => {
  const script = jobScript({ ...blank, preamble: "module load x", image: "it's.sif", launch_command: "serve a" }, 1, 1);
  expect(script.endsWith("\nmodule load x\napptainer exec --nv 'it'\\''s.sif' serve a\n")).toBe(true);
});
