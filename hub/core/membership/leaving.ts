/** Agents off the registry: by their own wish, by the operator's, or set aside while he blocks them. */
import { type Agent, type Agents, withoutAccount } from '../agents.ts'

export type Left = { agent: Agent; dropped: number }

/** Takes an agent off the registry with profile, keys, card and waiting mail; its key event log is still served, and it is archived no more. */
export async function leave(agents: Agents, aid: string): Promise<Left> {
  const { agent, stored } = await agents.update(
    aid,
    held => withoutAccount(required(held)),
    undefined,
    'restored',
  )
  return { agent, dropped: stored.dropped }
}

/** Takes an agent off the registry and keeps what it published, and its mail, for when it is let in again. */
export async function setAside(agents: Agents, aid: string): Promise<Agent> {
  const { agent } = await agents.update(aid, held => {
    const known = required(held)
    return { ...known, row: { ...known.row, registered: false } }
  })
  return agent
}

/** Puts an agent that was set aside back on the registry; one that left, or never published keys, comes by itself. */
export async function putBack(agents: Agents, aid: string): Promise<boolean> {
  const held = await agents.find(aid)
  if (held === undefined || held.row.registered) return false
  if (held.row.keys === undefined || held.log.deactivated) return false
  await agents.update(aid, newest => {
    const known = required(newest)
    return { ...known, row: { ...known.row, registered: known.keys !== undefined && !known.log.deactivated } }
  })
  return true
}

/** Rows of agents are never deleted, so one that was found before is still there. */
export function required(agent: Agent | undefined): Agent {
  if (agent === undefined) throw new Error('an agent that was found is gone')
  return agent
}
