/** The three images: what each one starts, which files of the repository it has, and which packages. Pure. */

export const IMAGES = ["control", "edge", "all-in-one"] as const;

/** The name of an image, which is the name of its stage in the Containerfile. */
export type ImageName = (typeof IMAGES)[number];

/** One image. */
interface Image {
  /** The script that is started, from the root of the project, with its arguments. */
  readonly command: readonly [script: string, ...args: string[]];
  /** Folders and files of the repository, from its root. */
  readonly files: readonly string[];
  /** Packages that its scripts import; null: every package that is not for development alone. */
  readonly packages: readonly string[] | null;
}

const FOLDER = "node_modules/";

const COMMON = ["package.json", "LICENSE", "shared", "control", "infra"];

/** The name of the package in a folder. */
export function packageName(path: string): string {
  return path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
}

/** Where the build puts the bundled Worker. */
export const BUILT_WORKER = "dist/edge";

export const IMAGE_CONTENTS: Readonly<Record<ImageName, Image>> = {
  control: {
    command: ["control/main.ts"],
    files: [...COMMON, "recipes", "dist/console"],
    packages: [
      "@clickhouse/client-web",
      "@electric-sql/pglite",
      "@hono/node-server",
      "@hono/zod-openapi",
      "@neondatabase/serverless",
      "@upstash/redis",
      "aws4fetch",
      "drizzle-orm",
      "hono",
      "ioredis",
      "ipaddr.js",
      "jose",
      "lru-cache",
      "nodemailer",
      "openapi-fetch",
      "openapi-sampler",
      "openid-client",
      "pg",
      "pino",
      "prom-client",
      "swagger-ui-dist",
      "undici",
      "zod",
    ],
  },
  edge: {
    command: ["infra/local/edge-main.ts", "--built", BUILT_WORKER],
    files: [...COMMON, "edge", BUILT_WORKER],
    packages: ["ioredis", "ipaddr.js", "workerd", "zod"],
  },
  "all-in-one": {
    command: ["infra/local/main.ts"],
    files: [...COMMON, "edge", "browser", "recipes", "wrangler.toml", "dist/console"],
    packages: null,
  },
};

/** Node is in the base of every image. */
const NOT_IN_IMAGES = /^node-linux-/;

/** The parts of a lock file that are read. */
export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** The parts of a lock file's package that are read. */
interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** The packages that an image's scripts import; without a name, those of every image. */
function rootsOf(lock: Lock, name: ImageName | undefined): readonly string[] {
  const listed = name === undefined ? null : IMAGE_CONTENTS[name].packages;
  return listed ?? Object.keys(lock.packages[""]?.dependencies ?? {});
}

/**
 * The folders of the packages that an image has, from the root of the project: those that it imports, and what these need, also
 * those for other platforms. Without a name: of everything but development. Throws for a package that the lock does not have.
 */
export function packageFolders(lock: Lock, name?: ImageName): readonly string[] {
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    found.add(path);
    for (const needed of neededBy(lock, path)) visit(needed);
  };
  for (const root of rootsOf(lock, name)) visit(resolvePackage(lock, "", root) ?? missing(root));
  return [...found].filter((path) => !NOT_IN_IMAGES.test(path.slice(FOLDER.length)));
}

/** The folders of the packages that a package needs. Throws if the lock lacks one, unless it is optional. */
export function neededBy(lock: Lock, path: string): readonly string[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, ...own } = lock.packages[path] ?? {};
  const optional = new Set(Object.keys(optionalDependencies));
  const peers = Object.keys(peerDependencies).filter((peer) => own.peerDependenciesMeta?.[peer]?.optional !== true);
  const must = [...Object.keys(dependencies), ...peers].filter((needed) => !optional.has(needed));
  return [
    ...must.map((needed) => resolvePackage(lock, path, needed) ?? missing(needed)),
    ...[...optional].flatMap((needed) => resolvePackage(lock, path, needed) ?? []),
  ];
}

function missing(name: string): never {
  throw new Error(`package-lock.json has no ${name}, which an image needs: correct infra/containers/images.ts`);
}

/** Where Node finds a package that is imported from another one's folder. */
function resolvePackage(lock: Lock, from: string, name: string): string | undefined {
  const own = `${from === "" ? "" : `${from}/`}${FOLDER}${name}`;
  if (lock.packages[own] !== undefined) return own;
  if (from === "") return undefined;
  const above = from.lastIndexOf(`/${FOLDER}`);
  return resolvePackage(lock, above < 0 ? "" : from.slice(0, above), name);
}
