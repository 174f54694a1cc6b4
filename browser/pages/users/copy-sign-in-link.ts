import { usersTexts } from "../../messages/en/users.ts";
import { texts } from "../../messages/texts.ts";
import { toast } from "../../ui/toast.ts";

const text = texts("users", usersTexts);

/** Copies the link that everybody signs in with; a browser that lets no page copy gets it to read. */
export async function copySignInLink(): Promise<void> {
  const link = `${location.origin}/sign-in`;
  try {
    await navigator.clipboard.writeText(link);
    toast({ title: text("copiedLink"), detail: link });
  } catch {
    toast({ title: text("link"), detail: link });
  }
}
