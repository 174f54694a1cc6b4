/**
 * The bill of materials of packages, as CycloneDX 1.5, from package-lock.json. Pure. `npm sbom` is not asked, because it leaves
 * out packages of this lock file. It has no date, so that equal packages give equal files.
 */
import { type Lock, neededBy, packageName } from "./images.ts";

/** Facts about the whole product: from package.json. */
interface Project {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

interface Component {
  readonly "bom-ref": string;
  readonly type: "application" | "library";
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly object[];
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
}

/** A bill of materials (https://cyclonedx.org/docs/1.5/json/). */
interface Sbom {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.5";
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const ALGORITHMS: Readonly<Record<string, string>> = { sha1: "SHA-1", sha256: "SHA-256", sha512: "SHA-512" };

/** The bill of the packages in these folders of a lock file. */
export function sbomOf(lock: Lock, project: Project, folders: readonly string[]): Sbom {
  const whole = componentOf(project.name, project, "application");
  const component = (path: string): Component => componentOf(packageName(path), lock.packages[path] ?? {}, "library");
  // one package may lie in several folders
  const byRef = new Map(folders.map((path) => [component(path)["bom-ref"], path] as const));
  const refsOf = (paths: readonly string[]): string[] => [
    ...new Set(paths.filter((path) => folders.includes(path)).map((path) => component(path)["bom-ref"])),
  ];
  const ordered = [...byRef].sort(([a], [b]) => (a < b ? -1 : 1));
  const direct = folders.filter((path) => path.lastIndexOf("node_modules/") === 0);
  const named = new Set(Object.keys(lock.packages[""]?.dependencies ?? {}));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: whole },
    components: ordered.map(([, path]) => component(path)),
    dependencies: [
      { ref: whole["bom-ref"], dependsOn: refsOf(direct.filter((path) => named.has(packageName(path)))) },
      ...ordered.map(([ref, path]) => ({ ref, dependsOn: refsOf(neededBy(lock, path)) })),
    ],
  };
}

function componentOf(
  name: string,
  { version = "", license, integrity }: Lock["packages"][string],
  type: Component["type"],
): Component {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return { "bom-ref": purl, type, name, version, purl, licenses: licensesOf(license), hashes: hashesOf(integrity) };
}

/** One word is the name of a license; more words are an expression. */
function licensesOf(license: string | undefined): readonly object[] {
  if (license === undefined) return [];
  if (/^[\w.-]+$/.test(license) && license !== "UNLICENSED") return [{ license: { id: license } }];
  return / (?:OR|AND|WITH) /.test(license) ? [{ expression: license }] : [{ license: { name: license } }];
}

/** Subresource integrity: base64 of the hash, after the name of its algorithm. */
function hashesOf(integrity: string | undefined): Component["hashes"] {
  return (integrity ?? "").split(" ").flatMap((text) => {
    const [name = "", value = ""] = text.split(/-(.*)/s);
    const alg = ALGORITHMS[name];
    return alg === undefined ? [] : [{ alg, content: Buffer.from(value, "base64").toString("hex") }];
  });
}
