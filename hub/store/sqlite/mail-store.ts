/** The mail's part of the embedded store: changes through the writer, everything else from the reader. */
import type { Store } from '../port.ts'
import type { Database } from './database.ts'
import { isRevoked } from './mail-writes.ts'
import * as reads from './reads.ts'
import { ridsOf } from './rids.ts'
import type { WriterClient } from './writer-client.ts'

type MailStore = Pick<
  Store,
  | 'enqueue'
  | 'ack'
  | 'poll'
  | 'contents'
  | 'status'
  | 'findQueued'
  | 'strangersWaiting'
  | 'markFetched'
  | 'revoke'
  | 'isRevoked'
  | 'sweep'
  | 'unusedFiles'
  | 'totals'
>

/** Makes a change; where there is no room, once more after the reserve was given up. */
export type FreeingRoom = <T>(change: () => Promise<T>) => Promise<T>

export function mailOver(reader: Database, writer: WriterClient, freeingRoom: FreeingRoom): MailStore {
  return {
    async enqueue(item) {
      const result = await writer.write('enqueue', item)
      if (result.outcome !== 'queued') return result
      return { ...result, rid: ridsOf(reader).of({ mailbox: item.mailbox, id: result.id }) }
    },
    ack: change => freeingRoom(() => writer.write('ack', change)),
    poll: async query => reads.readPoll(reader, query),
    contents: async of => reads.readContents(reader, of),
    status: async rids => rids.map(rid => reads.readStatus(reader, rid)),
    findQueued: async (mailbox, digest) => reads.readQueued(reader, mailbox, digest),
    strangersWaiting: async mailbox => reads.readStrangersWaiting(reader, mailbox),
    async markFetched(rids, keepUntilMs) {
      await writer.write('markFetched', { rids, keepUntilMs })
    },
    revoke: change => freeingRoom(() => writer.write('revoke', change)),
    isRevoked: async (mailbox, capability) => isRevoked(reader, mailbox, capability),
    sweep: (nowMs, limit) => freeingRoom(() => writer.write('sweep', { nowMs, limit })),
    unusedFiles: async names =>
      names.filter(name => reader.one(reads.hotQueries.fileUsed, name) === undefined),
    totals: async () => reads.readTotals(reader),
  }
}
