/** What a build that takes letters at an address has of it. */
import { DirectServer, LetterRefused } from './server.ts'

type Serving = { DirectServer: typeof DirectServer; LetterRefused: typeof LetterRefused }

export const module: Serving | undefined = { DirectServer, LetterRefused }
