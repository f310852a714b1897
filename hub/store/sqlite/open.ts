/** The embedded store: one writer thread, one connection for reading, blobs beside it. */
import { closeSync, existsSync, openSync, rmSync, type Stats, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode, wordsOf } from '../../../protocol/encoding/errors.ts'
import type { Timers } from '../../../protocol/timers.ts'
import { freeBytes } from '../../files.ts'
import type { StoreOptions } from '../engine-port.ts'
import { type LocalStore, type Store, StoreBroken } from '../port.ts'
import type { WitnessStore } from '../witness-port.ts'
import { boardOver } from './board-store.ts'
import { clearingOver } from './clearing-store.ts'
import { type Database, faultClass, inWords, openReader, openWriter, usedBytes } from './database.ts'
import { invitesOver } from './invite-store.ts'
import { ledgerOver } from './ledger-store.ts'
import { readList } from './listings.ts'
import { type FreeingRoom, mailOver } from './mail-store.ts'
import { migrate } from './migrate.ts'
import { moderationOver } from './moderation-store.ts'
import { openCardsOver } from './open-card-store.ts'
import { openMailOver } from './open-mail-store.ts'
import { openPeersOver } from './open-peer-store.ts'
import { openReviewsOver } from './open-review-store.ts'
import { readOverview, readOverviewOf, readRefusedRanges } from './operator-reads.ts'
import { peerCardsOver } from './peer-card-store.ts'
import { peerPaymentsOver } from './peer-payment-store.ts'
import { peerReviewsOver } from './peer-review-store.ts'
import * as reads from './reads.ts'
import { hasReview, readReputation } from './review-store.ts'
import { ensureRidKey } from './rids.ts'
import { isProofUsed, signUpsOf } from './sign-ups.ts'
import { vouchersOver } from './voucher-store.ts'
import { witnessesOver } from './witness-store.ts'
import { WriterClient } from './writer-client.ts'

export const DATABASE_FILE = 'hub.db'
export const RESERVE_FILE = 'reserve'
export const RESERVE_BYTES = 16 * 1024 * 1024
const FILE_LOOK_MS = 1000
/** Changes that one transaction takes at most. */
const GROUP_MAX = 512

/** Opens, and where needed migrates, the store of a data directory. */
export function openStore(options: StoreOptions): Store {
  const path = join(options.directory, DATABASE_FILE)
  const reserve = join(options.directory, RESERVE_FILE)
  const { first, gaveUp } = openFirst(path, reserve)
  let reader: Database
  try {
    const { release, needsHeld, keepsOlder } = options
    const migrated = migrate(first, path, { release, needsHeld, keepsOlder })
    if (migrated !== undefined) options.onMigrated?.(migrated)
    ensureRidKey(first, options.random)
    reader = openReader(path)
  } finally {
    first.close()
  }
  if (gaveUp || !makeReserve(reserve)) options.onNoReserve?.(RESERVE_BYTES)
  const { groupMax = GROUP_MAX, bytesMax } = options
  const writer = new WriterClient({ path, groupMax, bytesMax }, options)
  reader.onFault = error => {
    if (faultClass(error) !== 'broken') return inWords(error)
    const broken = new StoreBroken(wordsOf(error))
    writer.fail(broken)
    return broken
  }
  const watched = [path, ...(options.watched ?? [])].filter(file => existsSync(file))
  const watches = watched.map(file => watchFile(file, options.timers, error => writer.fail(error)))
  const room: LocalStore['room'] = () => roomOf(options.directory, reader, bytesMax)
  const store = { ...storeOver(reader, writer, reserve), ...witnessesOver(path, reader, writer) }
  const close = async () => {
    for (const stop of watches) stop()
    await store.close()
  }
  const giveUpReserve = async () => giveUp(reserve)
  return { ...store, local: { path, room, giveUpReserve }, close }
}

/** Tells when the file at a path is no longer the one that is open: whatever is written then is gone with the process. */
function watchFile(path: string, timers: Timers, onLost: (error: StoreBroken) => void): () => void {
  const { dev, ino } = statSync(path)
  const timer = timers.every(FILE_LOOK_MS, () => {
    const there = lookAt(path)
    if (there === 'unseen' || (there?.dev === dev && there.ino === ino)) return
    timers.clear(timer)
    onLost(new StoreBroken(`${path} was removed or replaced while the hub ran`))
  })
  timer.unref()
  return () => timers.clear(timer)
}

/** What stands at a path, or that this cannot be seen now, which says nothing of the file that is open. */
function lookAt(path: string): Stats | undefined | 'unseen' {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    return systemCode(error) === 'ENOTDIR' ? undefined : 'unseen'
  }
}

/** Opening needs a little room; on a full disk the reserve gives it, so that mail can be collected and make more. */
function openFirst(path: string, reserve: string): { first: Database; gaveUp: boolean } {
  try {
    return { first: openWriter(path), gaveUp: false }
  } catch (error) {
    if (faultClass(error) !== 'full' || !existsSync(reserve)) throw error
    rmSync(reserve)
    return { first: openWriter(path), gaveUp: true }
  }
}

/** What the disk has left, and what the database may still grow or fill again. */
async function roomOf(
  directory: string,
  reader: Database,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<{ disk: number; rows: number }> {
  const disk = await freeBytes(directory)
  return { disk, rows: Math.min(disk, bytesMax - usedBytes(reader)) }
}

function storeOver(
  reader: ReturnType<typeof openReader>,
  writer: WriterClient,
  reserve: string,
): Omit<Store, 'local' | keyof WitnessStore> {
  const freeingRoom: FreeingRoom = async change => {
    try {
      return await change()
    } catch (error) {
      if (!writer.full || !giveUp(reserve)) throw error
      return await change()
    }
  }
  return {
    ...mailOver(reader, writer, freeingRoom),
    ...inTheOpen(reader, writer, freeingRoom),
    findAgent: async aid => reads.readAgent(reader, aid),
    putAgent: change => writer.write('putAgent', change),
    signUps: async of => signUpsOf(reader, of),
    isProofUsed: async proof => isProofUsed(reader, proof),
    async markSeen(number, hourMs) {
      await writer.write('markSeen', { number, hourMs })
    },
    listAgents: async query => readList(reader, query),
    bucket: async query => reads.readBucket(reader, query),
    counts: async seenSinceMs => reads.readCounts(reader, seenSinceMs),
    hasReview: async (provider, interaction) => hasReview(reader, provider, interaction),
    addReview: review => writer.write('addReview', review),
    reputation: async provider => readReputation(reader, provider),
    ...peersOver(reader, writer),
    async keepForkProof(proof) {
      await writer.write('keepForkProof', proof)
    },
    account: async aid => reads.readAccount(reader, aid),
    async raiseFloor(aid, floorMs) {
      await freeingRoom(() => writer.write('raiseFloor', { aid, floorMs }))
    },
    async admit(aid, admitted) {
      await writer.write('admit', { aid, admitted })
    },
    async block(aid, blocked) {
      await writer.write('block', { aid, blocked })
    },
    overview: async query => readOverview(reader, query),
    overviewOf: async aid => readOverviewOf(reader, aid),
    async refuseRange(range, refused) {
      await writer.write('refuseRange', { range, refused })
    },
    refusedRanges: async () => readRefusedRanges(reader),
    async setQuota(aid, quota) {
      await writer.write('setQuota', { aid, quota })
    },
    setting: async name => reads.readSetting(reader, name),
    async putSetting(name, value) {
      await writer.write('putSetting', { name, value })
    },
    ...ledgerOver(reader, writer),
    check: async () => {
      const rows = reader.all<{ quick_check: string }>('PRAGMA quick_check')
      return rows.map(row => row.quick_check).filter(line => line !== 'ok')
    },
    fail: async error => writer.fail(error),
    health: async () => writer.health,
    async close() {
      reader.close()
      await writer.close()
    },
  }
}

/** Whether there was a reserve to give up. */
function giveUp(reserve: string): boolean {
  if (!existsSync(reserve)) return false
  rmSync(reserve)
  return true
}

/** Room that is given up when the disk is full, so that collecting mail can go on and make more; whether it is there. */
function makeReserve(path: string): boolean {
  // A start that was killed may have left a part of it.
  if (existsSync(path) && statSync(path).size === RESERVE_BYTES) return true
  const block = new Uint8Array(1024 * 1024)
  const file = openSync(path, 'w', 0o600)
  try {
    for (let written = 0; written < RESERVE_BYTES; written += block.length) writeSync(file, block)
    return true
  } catch {
    // A disk that is full at start has no room to reserve; what there is must not be taken from mail.
    rmSync(path)
    return false
  } finally {
    closeSync(file)
  }
}

/** What is kept for agents whose mail the hub can read. */
const inTheOpen = (reader: Database, writer: WriterClient, freeingRoom: FreeingRoom) => ({
  ...boardOver(reader, writer),
  ...invitesOver(reader, writer),
  ...moderationOver(reader, writer),
  ...openMailOver(reader, writer, freeingRoom),
  ...openCardsOver(reader, writer),
  ...openPeersOver(reader, writer),
  ...openReviewsOver(reader, writer),
  ...vouchersOver(reader),
})

/** What is kept of peer hubs. */
const peersOver = (reader: Database, writer: WriterClient) => ({
  ...clearingOver(reader, writer),
  ...peerCardsOver(reader, writer),
  ...peerPaymentsOver(reader, writer),
  ...peerReviewsOver(reader, writer),
})
