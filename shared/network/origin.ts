/**
 * The origin of an address that a stored secret is sent to: scheme, host and port, compared as the platform's URLs
 * compare them (lower case, without the default port). A host with a trailing dot is a different host. A secret belongs
 * to its origin (docs/rules/secrets.md#secrets-and-addresses): a different origin counts as another party until an
 * admin confirms it.
 */

/** The origin of an http or https URL; "" for blank text and for anything else. */
export function originOf(address: string): string {
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : "";
}

/**
 * The origin of a mail server. Without STARTTLS it is a different origin, because the password is then sent unencrypted.
 */
export function mailOrigin(server: {
  readonly smtp_host: string;
  readonly smtp_port: number;
  readonly starttls: boolean;
}): string {
  return `${server.starttls ? "smtp+starttls" : "smtp"}://${server.smtp_host.toLowerCase()}:${server.smtp_port}`;
}
