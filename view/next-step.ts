/** The next step that a refusal of the node names, as a screen offers it. */
import { cleanLine } from './clean.ts'

/** The flag by which a command line attaches a file. */
const FLAG = '--attach PATH'

/** Why words are still there; where no answer came they may have been sent, and the same again is taken once. */
export const sayStillHere = (fault: string, isUnanswered: boolean): string =>
  `${isUnanswered ? 'No answer came' : 'Not sent'}: ${fault}`

/** `attach`: how a person attaches a file on this screen. */
export const nextOnScreen = (next: string, attach: string): string => cleanLine(next).replace(FLAG, attach)
