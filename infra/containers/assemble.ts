/**
 * The build stage of the Containerfile: bundles the Worker and the console, and lays out the content of each image in a
 * separate folder: `node infra/containers/assemble.ts <folder>`. Files are linked, not copied.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rootCertificates } from "node:tls";
import { stampConsole } from "../console/build.ts";
import { bundleAll } from "./bundle-all.ts";
import { IMAGE_CONTENTS, IMAGES, type ImageName, packageFolders } from "./images.ts";
import { readLock, readProject } from "./read-project.ts";
import { sbomOf } from "./sbom.ts";

const ROOT = join(import.meta.dirname, "../..");

const to = process.argv[2];
if (to === undefined) throw new Error("usage: assemble.ts <folder>");
await bundleAll();
const lock = readLock();
for (const name of IMAGES) assemble(name, join(to, name));
// whom Node trusts, for the runtime of the Worker
writeFileSync(join(to, "ca-certificates.crt"), `${rootCertificates.join("\n")}\n`);

function assemble(name: ImageName, folder: string): void {
  // packages for other platforms are not installed
  const installed = packageFolders(lock, name).filter((path) => existsSync(join(ROOT, path)));
  // a folder within another one of the list comes along with it
  const outer = installed.filter((path) => !installed.some((other) => path.startsWith(`${other}/`)));
  for (const path of [...IMAGE_CONTENTS[name].files, ...outer]) link(join(ROOT, path), join(folder, path));
  for (const test of globSync("{control,edge,shared,infra,browser}/**/*.test.{ts,tsx}", { cwd: folder }))
    rmSync(join(folder, test));
  writeFileSync(join(folder, "sbom.cdx.json"), `${JSON.stringify(sbomOf(lock, readProject(), installed), null, 2)}\n`);
  // an image with sources checks at each start whether its console was built from them
  if (IMAGE_CONTENTS[name].files.includes("browser")) stampConsole(folder);
}

function link(from: string, at: string): void {
  mkdirSync(dirname(at), { recursive: true });
  const { status, stderr } = spawnSync("cp", ["-al", from, at], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${from} cannot be copied: ${stderr}`);
}
