/** What each machine of a hub over a database has in files of its own: looked at anew when a file has changed. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { sha256 } from '../protocol/crypto/engine.node.ts'
import { toHex, utf8 } from '../protocol/encoding/bytes.ts'
import { eventDigest } from '../protocol/identity/kel.ts'
import type { History } from './cluster/one-history.ts'
import type { Copies } from './cluster/processes.ts'
import { FEDERATION_FILE } from './core/federation/peers.ts'
import { IDENTITY_FILE, readIdentity } from './core/identity.ts'

const MARK_DIGITS = 16

/** Says what there is, as often as it is asked. */
export function copiesIn(directory: string): () => Copies {
  const history = historyIn(directory)
  const peers = whenChanged(join(directory, FEDERATION_FILE), path => markOf(readFileSync(path, 'utf8')))
  return () => ({ history: history(), peers: peers() ?? '' })
}

/** The key history of the hub as this machine has it. */
export function historyIn(directory: string): () => History {
  const read = whenChanged(join(directory, IDENTITY_FILE), () =>
    readIdentity(directory).kel.events.map(({ bodyBytes }) => toHex(eventDigest(bodyBytes))),
  )
  return () => read() ?? []
}

const listShape = z.object({ peers: z.array(z.looseObject({ aid: z.string() })) })

/** Of whom it lists, where, and with which limit; each process follows the key histories by itself. */
function markOf(text: string): string {
  const listed = listShape.safeParse(JSON.parse(text))
  const peers = (listed.data?.peers ?? []).map(({ kel: _, ...peer }) => JSON.stringify(peer)).sort()
  return peers.length === 0 ? '' : toHex(sha256(utf8(peers.join('\n')))).slice(0, MARK_DIGITS)
}

function whenChanged<T>(path: string, read: (path: string) => T): () => T | undefined {
  let seen = ''
  let held: T | undefined
  return () => {
    try {
      const { mtimeMs, size, ino } = statSync(path)
      const mark = `${mtimeMs} ${size} ${ino}`
      if (mark !== seen) held = read(path)
      seen = mark
      return held
    } catch {
      return undefined
    }
  }
}
