/** Every change of what the processes of a hub remember together, by name. */
import type { GroupWriter } from '../store/postgres/groups.ts'
import { addVisit, endVisits, replaceVisit } from './guests.ts'
import { takeTimes } from './replay.ts'
import { endSessions, openSession } from './sessions.ts'
import { noteContact, takeContact } from './shares.ts'

export const clusterWrites = {
  takeTimes,
  openSession,
  endSessions,
  takeContact,
  noteContact,
  addVisit,
  replaceVisit,
  endVisits,
} as const

export type ClusterWriter = Pick<GroupWriter<typeof clusterWrites>, 'write'>
