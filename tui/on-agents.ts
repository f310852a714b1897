/** What keys do on the screens of agents and of evidence. */

import type { Action } from '../view/keys.ts'
import { agentRows } from '../view/rows.ts'
import { bufferOf, emptyBuffer } from './edit.ts'
import { write } from './on-tasks.ts'
import { paneOf, type Scene, type Step, stay, toast } from './scene.ts'

export function onAgents(scene: Scene, action: Action): Step | undefined {
  if (scene.model.screen === 'agents') return onAgent(scene, action)
  if (scene.model.screen === 'evidence') return onRecord(scene, action)
  return undefined
}

function onAgent({ model, view, now }: Scene, action: Action): Step | undefined {
  if (action === 'find')
    return stay({ ...model, prompt: { kind: 'find', buffer: bufferOf(view.agents.query) } })
  const row = agentRows(view, now).find(({ id }) => id === paneOf(model).selected)
  if (!['open', 'delegate', 'contact', 'copy'].includes(action)) return undefined
  if (row === undefined) return stay(toast(model, 'no agent is selected; s searches'))
  if (action === 'copy') return stay(toast(model, `copied ${row.id}`), { type: 'copy', text: row.id })
  if (action === 'contact')
    return stay({
      ...model,
      prompt: {
        kind: 'contact',
        buffer: row.contact === undefined ? bufferOf(suggested(row.name)) : emptyBuffer,
        about: row.id,
      },
    })
  return write(model, {
    kind: 'delegate',
    to: row.id,
    name: row.contact ?? `${row.name} (its own name; ${row.short})`,
  })
}

/** A petname that the node takes, made of the name that an agent gives itself. */
const suggested = (name: string): string =>
  name
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[^\p{L}\p{N}]+|-+$/gu, '')
    .slice(0, 64)

function onRecord({ model, view }: Scene, action: Action): Step | undefined {
  const record = view.evidence.records.find(({ id }) => id === paneOf(model).selected)
  if (record === undefined) return undefined
  if (action === 'copy') return stay(toast(model, `copied ${record.id}`), { type: 'copy', text: record.id })
  if (action !== 'open') return undefined
  const text = JSON.stringify(record, null, 2)
  return stay({ ...model, output: { title: `record ${record.seq}`, text, top: 0, isRunning: false } })
}
