/** The ways on of a node without a hub: join one, host one, see the demo. Offered once to a person. */
import { selectIdentity } from '../../daemon/home/home.ts'
import { peekLog } from '../../daemon/identity/identity.ts'
import type { Run } from '../command.ts'
import { help } from '../help.ts'
import { hint, type Io, notice } from '../io.ts'
import { notesIn, WAYS } from '../screen/notes.ts'

const JOIN = 'svc hub-register <url> --name <name>'

/** Offers them where nobody was told yet; whether it did. */
export function offerWays(io: Io, dir: string): boolean {
  const notes = notesIn(dir)
  const seen = notes.read()
  if (!io.hints || seen.includes(WAYS)) return false
  notice(io, 'this node has no hub yet. Join one, host one on this machine, or see a demo first:')
  hint(io, `${JOIN}\nsvc-hub serve\nsvc demo`)
  notes.write([...seen, WAYS])
  return true
}

/** `svc` alone: help, and the ways on, also before there is a node. */
export const welcome: Run = async (io, input, table) => {
  const code = await help(io, input, table)
  if (io.hints) offerAt(io, selectIdentity(io.env).dir)
  return code
}

function offerAt(io: Io, dir: string): void {
  const log = peekLog(dir)
  if (log === undefined) {
    notice(io, 'no node is here yet. Start one and join a hub, host a hub, or see a demo first:')
    hint(io, `svc up\n${JOIN}\nsvc-hub serve\nsvc demo`)
  } else if (log.home === undefined) offerWays(io, dir)
}
