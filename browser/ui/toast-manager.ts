/** Between `toast` and the place where toasts appear. In a file of its own, because it is too large for every page to load. */
import { Toast } from "@base-ui/react/toast";

export const toastManager = Toast.createToastManager();
