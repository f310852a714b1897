/** What a row is: it brings a world to the moment at which something of ours waits for somebody else. */

import { say } from '../../daemon/tasks/conversation.ts'
import { textMessage } from '../../daemon/tasks/messages.ts'
import { taskParts } from '../../daemon/tasks/open.ts'
import type { Side } from './side.ts'
import { type KeptWorld, MatrixWorld } from './world.ts'

/** Something of `here` waits in a task between `here` and `there`. */
export type Waiting = { world: MatrixWorld; here: Side; there: Side; id: string }
export type Row = {
  name: string
  /** The row of which this one is a variant. */
  like?: string
  begin(world: MatrixWorld): Promise<Waiting>
  /** Why a column can't happen here, by its name. */
  cannot?: Readonly<Record<string, string>>
}

const WITHDRAWS = 'the other side withdraws or declines'
const PROPOSES = 'the other side proposes to end'
const TAKES_BACK = 'the other side takes back its capabilities'
const both = (why: string) => ({ [WITHDRAWS]: why, [PROPOSES]: why })

export const unknown = both('it does not know the task yet')
export const unsent = { ...unknown, [TAKES_BACK]: 'it has given none yet' }
const ARCHIVES = 'its person archives the task'
export const priced = both('to it the task ended with its price')
/** A price that its own person decides about. */
export const undecided = { ...priced, [ARCHIVES]: 'it waits for the yes of that person' }
export const over = both('both have ended the task')

export function delegate(world: MatrixWorld, { to, text = 'a task', ...more }: Delegated): string {
  const from = world.opposite(to)
  const id = from.tasks.delegation.delegate({ to: to.aid, task: text, ...more })
  world.said.push({ by: from, to, id, text })
  return id
}
type Delegated = { to: Side; text?: string; pay?: boolean; max_credits?: number; attach?: string[] }

export function tell(world: MatrixWorld, by: Side, id: string, text: string): void {
  const { ctx } = by
  ctx.store.transaction(() => say(taskParts(ctx).answers, by.node.thread(id), textMessage(text, [])))
  world.said.push({ by, to: world.opposite(by), id, text })
}

type Built = { kept: KeptWorld; id: string }

/**
 * A moment from which several rows go on: it is built once in a process, and each world goes on from a copy of it, with
 * both nodes started anew. What a row is about comes after it.
 */
export function stage(
  build: (world: MatrixWorld) => Promise<string>,
): (world: MatrixWorld) => Promise<string> {
  const built = new Map<boolean, Promise<Built>>()
  const once = async (isOpen: boolean): Promise<Built> => {
    await using world = new MatrixWorld({ isOpen })
    const id = await build(world)
    return { id, kept: await world.keep() }
  }
  return async world => {
    const found = built.get(world.isOpen) ?? once(world.isOpen)
    built.set(world.isOpen, found)
    const { kept, id } = await found
    await world.goOn(kept)
    return id
  }
}

/** Both nodes are at the hub, and nothing was said yet. */
export const joined = stage(async world => {
  await world.begin()
  return ''
})

const taskAnswered = stage(async world => {
  await joined(world)
  const id = delegate(world, { to: world.bob })
  await world.turns(2)
  tell(world, world.bob, id, 'an answer')
  await world.turns(2)
  return id
})

/** A task of alice's that bob has answered. */
export async function answered(world: MatrixWorld): Promise<Waiting> {
  const id = await taskAnswered(world)
  return { world, here: world.alice, there: world.bob, id }
}
