/** Commands of a later release: the line is checked as any other, then one sentence says what this build lacks. */
import type { Run } from '../command.ts'
import { CommandFailed } from '../io.ts'

const lacks =
  (support: string): Run =>
  async () => {
    throw new CommandFailed(`this build has no ${support} support`, 'svc version')
  }

export const p2p = lacks('direct-connection')
