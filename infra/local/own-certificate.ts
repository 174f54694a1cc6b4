/** The certificate that a launcher's own front shows (docs/tls-and-fronts.md#tls-by-the-gateway-itself). */
import { StackEnvError } from "./env.ts";
import type { Undo } from "./process/running.ts";
import type { CertificateFiles } from "./tls/certificate.ts";
import { ServedCertificate } from "./tls/served-certificate.ts";

/** The certificate, reread while the front runs; null if there is none. Throws StackEnvError. */
export async function openCertificate(
  files: CertificateFiles | null,
  log: (line: string) => void,
  undo: Undo,
): Promise<ServedCertificate | null> {
  if (files === null) return null;
  const opened = await ServedCertificate.open({ files, log, nowMs: Date.now });
  if ("problem" in opened) throw new StackEnvError(opened.problem);
  undo.add(opened.watch());
  return opened;
}

/** The origin of a front for its clients: a certificate is for a name, not for an address. */
export function publicUrl(front: { readonly url: string }, certificate: ServedCertificate | null): string {
  if (certificate === null) return front.url;
  const url = new URL(front.url.replace("http:", "https:"));
  url.hostname = certificate.now.host ?? url.hostname;
  return url.origin;
}
