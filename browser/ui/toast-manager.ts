/** Between those who tell something and the place where toasts appear; loaded with that place, not with every page. */
import { Toast } from "@base-ui/react/toast";

export const toastManager = Toast.createToastManager();
