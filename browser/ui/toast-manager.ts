import { Toast } from "@base-ui/react/toast";

/** Between those who tell something and the place where toasts appear. */
export const toastManager = Toast.createToastManager();
