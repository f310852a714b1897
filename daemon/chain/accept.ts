/** Going on from an older copy of a data directory, on the owner's word, because the newer one is lost. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../home/home.ts'
import { forgetHead } from '../home/kept-heads.ts'
import { lockDirectory } from '../home/lock.ts'
import { requireNotMoved } from '../home/moved.ts'
import { openIdentity } from '../identity/identity.ts'
import { chainLength } from '../store/chain.ts'
import { doubtNumbers, newestIn } from '../store/interactions.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import { openStore, type Store } from '../store/open.ts'
import { noteSettled, restoredAt } from '../store/restores.ts'
import { ChainRefused } from './file.ts'
import { loseHeads } from './old-copy.ts'
import { forgetSecond, notePlace, noteTakenOver } from './place.ts'

type Outside = { now: () => number; random: (length: number) => Uint8Array }

/** Forgets how far a newer copy had come; what it signed and this one signs again contradict each other for good. */
export function acceptCopy(dir: string, env: Environment, outside: Outside): { aid: string; length: number } {
  if (!fs.existsSync(join(dir, 'identity.kel'))) throw new ChainRefused(`${dir} holds no identity`)
  using _lock = lockDirectory(dir, 'command')
  requireNotMoved(dir)
  using undo = new DisposableStack()
  const now = outside.now()
  const identity = openIdentity(dir, outside)
  const store = undo.adopt(openStore(dir), opened => opened.close())
  keepLasting(store, { copyAccepted: 1, keySetDue: 'raise' })
  const madeAtMs = restoredAt(store) ?? newestIn(store)
  doubtNumbers(store)
  forgetSecond(store)
  noteTakenOver(store, now)
  notePlace(store, dir)
  noteSettled(store, madeAtMs, now)
  forgetHead(env, identity.aid)
  const length = chainLength(store)
  loseHeads(store, length, identity.log.seq)
  return { aid: identity.aid, length }
}

/** Whether a key set that a newer copy made may be outnumbered. */
export const isCopyAccepted = (store: Store): boolean => lasting(store, 'copyAccepted') === 1

/** The hub holds nothing newer any more. */
export const noteCaughtUp = (store: Store): void => keepLasting(store, { copyAccepted: 0 })

/**
 * What of a key set that shows other copies that this one took over is still to be done, before anything of it leaves: it
 * is to be made, or made and to be published.
 */
export const dueSet = (store: Store): 'raise' | 'publish' | undefined => lasting(store, 'keySetDue')

export const noteSetRaised = (store: Store): void => keepLasting(store, { keySetDue: 'publish' })
export const noteSetPublished = (store: Store): void => keepLasting(store, { keySetDue: null })
