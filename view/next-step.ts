/** The next step that a refusal of the node names, as a screen offers it. */
import { cleanLine } from './clean.ts'

/** The flag by which a command line attaches a file. */
const FLAG = '--attach PATH'

/** `attach`: how a person attaches a file on this screen. */
export const nextOnScreen = (next: string, attach: string): string => cleanLine(next).replace(FLAG, attach)
