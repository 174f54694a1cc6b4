/** The email of a person who may sign in to the console: one rule for invitations and sign-ins (docs/rules/users.md#identity). */
import * as z from "zod";
import { ADDRESS, NOT_AN_ADDRESS } from "./common.ts";

/** The audit log names a person by the email. */
const USER_EMAIL_MAX = 256;

/** Blanks of every kind, and what shows nothing: beside another email, one with such a character would look the same. */
const NOT_VISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** The form in which emails are stored and compared. */
const normalForm = (email: string): string => email.toLowerCase().normalize("NFC");

const isAscii = (character: string): boolean => character < "\x80";

/** Whether normalization turns a character into an ASCII one (U+212A), so that the email would be somebody else's. */
const becomesAscii = (email: string): boolean =>
  Array.from(email).some((one) => !isAscii(one) && isAscii(normalForm(one).slice(0, 1)));

export const personEmail = z
  .string({ error: "must be a string" })
  .overwrite((text) => text.replaceAll(/^ +| +$/g, ""))
  .min(1, "must not be blank")
  .refine((email) => !NOT_VISIBLE.test(email), "must not have blanks or invisible characters")
  .refine((email) => !becomesAscii(email), "must not have a character that stands for one of ASCII")
  .overwrite(normalForm)
  .max(USER_EMAIL_MAX, `must be at most ${USER_EMAIL_MAX} characters`)
  .regex(ADDRESS, NOT_AN_ADDRESS);
