/**
 * Builds the images of infra/containers without a registry: their base comes from Debian's packages and from npm, under the name
 * that the Containerfile pins. Needs root, Debian and buildah.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { IMAGES, type ImageName } from "../../infra/containers/images.ts";
import { DEBIAN_RELEASE, debianMirror, installTools, must } from "../tiers/optional-area.ts";

const ROOT = join(import.meta.dirname, "../..");
const CONTAINERFILE = join(ROOT, "infra/containers/Containerfile");
const TOOLS = ["buildah", "debootstrap"];
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const inspected = z.object({
  Docker: z.object({
    config: z.object({
      User: z.string(),
      Env: z.array(z.string()),
      Entrypoint: z.array(z.string()),
      WorkingDir: z.string(),
      StopSignal: z.string(),
      Healthcheck: z.object({ Test: z.array(z.string()) }),
      Volumes: z.record(z.string(), z.unknown()).nullish(),
    }),
  }),
});

/** A built image: its content as a folder, and what it says of itself. */
export interface BuiltImage {
  readonly root: string;
  readonly config: z.infer<typeof inspected>["Docker"]["config"];
}

/** The images by name, as {@link buildImages} leaves them for the tests. */
export type BuiltImages = Readonly<Record<ImageName, BuiltImage>>;

/** Builds every image in `folder`. Throws what cannot be had, and what a command says that fails. */
export function buildImages(folder: string): BuiltImages {
  installTools(...TOOLS);
  const base = join(folder, "base");
  makeDebian(base);
  addNode(base);
  const buildah = (...args: readonly string[]): string =>
    must("buildah", ...storage(folder), "--storage-driver", "vfs", ...args);
  const container = buildah("from", "scratch");
  buildah("copy", "--quiet", container, base, "/");
  buildah("config", "--env", `PATH=${PATH}`, container);
  buildah("commit", "--quiet", "--rm", container, pinnedBase());
  rmSync(base, { recursive: true });
  const npmrc = join(folder, "npmrc");
  writeFileSync(
    npmrc,
    `cafile=${CERTIFICATES}\nregistry=${must("npm", "config", "get", "registry")}\nprefer-offline=true\n`,
  );
  const cache = must("npm", "config", "get", "cache");
  mkdirSync(cache, { recursive: true });
  const built = IMAGES.map((name): readonly [ImageName, BuiltImage] => {
    process.stdout.write(`building ${name}\n`);
    const how = ["--isolation", "chroot", "--format", "docker", "--pull-never", "--quiet"];
    const what = ["--target", name, "--tag", `gateway-${name}`, "--file", CONTAINERFILE, ROOT];
    buildah("build", ...how, "--secret", `id=npmrc,src=${npmrc}`, "--volume", `${cache}:/root/.npm`, ...what);
    const image = buildah("inspect", "--type", "image", `localhost/gateway-${name}`);
    const root = buildah("mount", buildah("from", "--pull-never", `localhost/gateway-${name}`));
    return [name, { root, config: inspected.parse(JSON.parse(image)).Docker.config }];
  });
  return Object.fromEntries(built) as unknown as BuiltImages;
}

export function removeImages(folder: string): void {
  spawnSync("buildah", [...storage(folder), "--storage-driver", "vfs", "unmount", "--all"]);
  rmSync(folder, { recursive: true, force: true });
}

export function pinnedBase(): string {
  const [, name] = /^ARG BASE=(\S+)$/m.exec(readFileSync(CONTAINERFILE, "utf8")) ?? [];
  if (name === undefined) throw new Error("the Containerfile pins no base");
  return name;
}

function storage(folder: string): readonly string[] {
  return ["--root", join(folder, "storage"), "--runroot", join(folder, "run")];
}

/** A small Debian of the pinned base's release, as a folder. */
export function makeDebian(base: string): void {
  must("debootstrap", "--variant=minbase", "--include=ca-certificates", DEBIAN_RELEASE, base, debianMirror());
  rmSync(join(base, "var/cache/apt/archives"), { recursive: true });
  // it trusts whom this machine trusts: a registry behind a proxy has a certificate of the proxy's
  copyFileSync(CERTIFICATES, join(base, CERTIFICATES));
}

/** Adds the Node of package-lock.json and the npm that runs here: what the pinned base has. */
export function addNode(base: string): void {
  copyFileSync(join(ROOT, `node_modules/node-linux-${process.arch}/bin/node`), join(base, "usr/local/bin/node"));
  const npm = process.env["npm_execpath"] ?? must("readlink", "-f", must("which", "npm"));
  const modules = join(base, "usr/local/lib/node_modules");
  mkdirSync(modules, { recursive: true });
  cpSync(dirname(dirname(npm)), join(modules, "npm"), { recursive: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(base, "usr/local/bin/npm"));
}
