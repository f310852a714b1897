/**
 * Where a store was last used. A directory that is used elsewhere than before may be a copy of one that is in use there:
 * it signs nothing before it has seen that nobody else of its identity is at the hub. One that found its original
 * there stays a second copy, also after a restart, until its owner says that the original is lost.
 */
import * as fs from 'node:fs'
import { hostname } from 'node:os'
import { present } from '../../protocol/encoding/present.ts'
import { fromJson, type Json, toJson } from '../store/columns.ts'
import { keepLasting, lasting, type MachinePlace } from '../store/lasting.ts'
import type { Store } from '../store/open.ts'

/** How long a node tells of a copy, and of having taken over. */
const TOLD_MS = 7 * 86_400_000

const placeOf = (dir: string): MachinePlace => {
  const real = fs.realpathSync(dir)
  return { machine: hostname(), dir: real, folder: fs.statSync(real).ino }
}

const sayPlace = ({ machine, dir }: MachinePlace): string => `${dir} on ${machine}`

const read = <T>(text: Json<T> | undefined): T | undefined =>
  text === undefined ? undefined : fromJson(text)

/** Where this store was used before, when that was elsewhere. */
export function previousPlace(store: Store, dir: string): MachinePlace | undefined {
  const former = read<MachinePlace>(lasting(store, 'place'))
  const now = placeOf(dir)
  const isHere =
    former === undefined ||
    (former.machine === now.machine && former.dir === now.dir && former.folder === now.folder)
  return isHere ? undefined : former
}

/** This directory is the one in use. */
export function notePlace(store: Store, dir: string): void {
  const now = toJson(placeOf(dir))
  if (lasting(store, 'place') !== now) keepLasting(store, { place: now })
}

/** Why nothing is signed yet where a directory may be a copy. */
export const sayElsewhere = (former: MachinePlace): string =>
  `this directory was in use at ${sayPlace(former)} before; nothing is signed until the hub has shown that no node of this identity runs there any more`

type Second = { atMs: number; former?: MachinePlace; here: MachinePlace }

/** Found another node of this identity that was first; gives the sentence for it. */
export function noteSecond(store: Store, dir: string, atMs: number): string {
  const former = read<MachinePlace>(lasting(store, 'place'))
  const second: Second = { atMs, ...present({ former }), here: placeOf(dir) }
  keepLasting(store, { secondCopy: toJson(second) })
  return saySecond(second)
}

/** Why this directory is a second copy, when it was found to be one. */
export function secondCopy(store: Store): string | undefined {
  const second = read<Second>(lasting(store, 'secondCopy'))
  return second === undefined ? undefined : saySecond(second)
}

function saySecond({ atMs, former, here }: Second): string {
  const first = former === undefined ? 'on another machine' : `elsewhere (last known at ${sayPlace(former)})`
  return `this identity already runs ${first}, as was seen at ${timeOf(atMs)}, so this copy at ${sayPlace(here)} signs nothing; use the other one, or, only if that one is lost, stop this node and run svc evidence accept`
}

export const forgetSecond = (store: Store): void => keepLasting(store, { secondCopy: null })

/** Another copy tried to poll the mailbox. */
export const noteTwin = (store: Store, atMs: number): void => keepLasting(store, { copySeenAt: atMs })

/** When another copy was last seen, which its owner may let take over at any time. */
export const twinSeenAt = (store: Store): number | undefined => lasting(store, 'copySeenAt')

/** Why nothing is signed yet where a copy was seen that may have taken over. */
export const sayMayBeTakenOver = (seenMs: number): string =>
  `a copy of this node was started on another machine, last seen at ${timeOf(seenMs)}, and may have taken over since; nothing is signed until the hub has answered, which the node goes on asking`

type TakenOver = { atMs: number; former?: MachinePlace }

/** By its owner's word this directory goes on in the place of every other copy. */
export function noteTakenOver(store: Store, atMs: number): void {
  const former = read<MachinePlace>(lasting(store, 'place'))
  keepLasting(store, { takenOver: toJson({ atMs, ...present({ former }) }), copySeenAt: null })
}

/** Whether every other copy gives way to this one. */
export const hasTakenOver = (store: Store): boolean => lasting(store, 'takenOver') !== undefined

/** What a node says of another copy that it noticed lately, and of having taken over. */
export function copyWarnings(store: Store, now: number): string[] {
  const seenMs = twinSeenAt(store)
  const isSeen = seenMs !== undefined && now - seenMs <= TOLD_MS
  const taken = read<TakenOver>(lasting(store, 'takenOver'))
  const isTold = taken !== undefined && now - taken.atMs <= TOLD_MS
  if (taken !== undefined && (isTold || isSeen))
    return [`${sayTakenOver(taken)}${isSeen ? `; another copy was seen at ${timeOf(seenMs)}` : ''}`]
  return isSeen
    ? [
        `a copy of this node was started on another machine, last seen at ${timeOf(seenMs)}; this one was first and goes on, the copy signs nothing; remove the copy`,
      ]
    : []
}

function sayTakenOver({ atMs, former }: TakenOver): string {
  const from = former === undefined ? '' : ` (this directory was last in use at ${sayPlace(former)})`
  return `this node took over at ${timeOf(atMs)}, by svc evidence accept${from}; any other copy of it is an old one, which signs nothing once it has asked the hub; start none of them`
}

const timeOf = (ms: number): string => new Date(ms).toISOString()
