/** Certificates that a test makes, signed by themselves. */
import { generate } from "selfsigned";

export interface MadeCertificate {
  readonly cert: string;
  readonly key: string;
}

/** A certificate for `localhost`, other names and 127.0.0.1. `endsAt`: when it stops being valid; a year from now else. */
export async function makeCertificate(names: readonly string[] = [], endsAt?: Date): Promise<MadeCertificate> {
  const made = await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    ...(endsAt === undefined ? {} : { notBeforeDate: new Date(endsAt.getTime() - 86_400_000), notAfterDate: endsAt }),
    extensions: [
      {
        name: "subjectAltName",
        altNames: [
          ...["localhost", ...names].map((value) => ({ type: 2, value }) as const),
          { type: 7, ip: "127.0.0.1" },
        ],
      },
    ],
  });
  return { cert: made.cert, key: made.private };
}
