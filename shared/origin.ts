/**
 * The origin of an address that a stored secret is sent to: scheme, host and port, as the platform's URLs compare them (lower
 * case, without the scheme's own port). A host with a trailing dot is another one. Secrets belong to an origin (decisions
 * §43.5): what leads to another one is somebody else until an admin says so.
 */

/** The origin of an http or https URL; "" for a blank text and for what is no such URL. */
export function originOf(address: string): string {
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : "";
}

/** The same of a mail server: without STARTTLS it is another one, since the password then travels in clear. */
export function mailOrigin(server: {
  readonly smtp_host: string;
  readonly smtp_port: number;
  readonly starttls: boolean;
}): string {
  return `${server.starttls ? "smtp+starttls" : "smtp"}://${server.smtp_host.toLowerCase()}:${server.smtp_port}`;
}
