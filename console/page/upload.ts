/** Files of the browser, given to the node one after the other: how far each is, and how it is called off. */

import { FILES_MAX } from '../../protocol/control/console.ts'
import { fileName } from '../../protocol/encoding/file-names.ts'
import { size } from '../../view/ages.ts'
import { type Bound, measured } from '../../view/bounds.ts'
import { NodeGone, NodeRefused } from '../../view/node-client.ts'
import { percent } from '../../view/sentences.ts'
import type { App } from './app.ts'
import { type Drawn, h } from './h.ts'
import { button } from './parts.ts'
import type { Peer } from './peer.ts'
import { filesIn } from './ui.ts'

export const FILE_BYTES_MAX = 64 * 1024 * 1024

export type Uploading = {
  name: string
  sent: number
  total: number
  /** Calls it off; where it was not taken, removes its row. */
  stop: () => void
  /** Why the node did not take it; it stays in sight until a person has decided. */
  fault?: string
  again?: () => void
}
/** Gets the path of a file that the node has. */
type Take = (path: string) => void
export type Upload = (
  file: File,
  onSent: (bytes: number) => void,
) => { done: Promise<string>; stop: () => void }

/** Gives a file to the node; resolves to the path under which a message names it. */
export function uploadWith(peer: Peer): Upload {
  return (file, onSent) => {
    const stopped = new AbortController()
    const { signal } = stopped
    const begin = async () => {
      const path = `/upload?name=${encodeURIComponent(file.name)}`
      const answer = await peer.fetch(path, { method: 'POST', body: file, signal, onSent })
      const said = (await answer.json().catch(() => ({}))) as {
        path?: string
        reason?: string
        error?: string
      }
      if (answer.status !== 200 || said.path === undefined)
        throw new NodeRefused(said.reason ?? 'internal', said.error ?? 'the node did not take the file')
      return said.path
    }
    const done = begin().catch((error: unknown) => {
      throw signal.aborted ? new NodeGone('the upload was called off') : error
    })
    return { done, stop: () => stopped.abort() }
  }
}

/** The field that takes files of the browser, and those that are on their way; `take` gets the path of each. */
export function uploadField(app: App, of: string, take: Take): Drawn {
  const going = app.ui.uploads.get(of) ?? []
  return h(
    'div',
    { class: 'field', key: 'upload' },
    h('label', { for: 'upload' }, 'Files from this browser, at most 64 MiB each'),
    h('input', {
      id: 'upload',
      type: 'file',
      multiple: true,
      onchange: event => {
        const input = event.target as HTMLInputElement
        const files = [...(input.files ?? [])]
        input.value = ''
        void giveAll(app, of, files, take)
      },
    }),
    going.map((one, i) => (one.fault === undefined ? onItsWay(one, i) : notTaken(one, i))),
  )
}

function onItsWay({ name, sent, total, stop }: Uploading, i: number): Drawn {
  return h(
    'p',
    { class: 'line', key: `${i} ${name}` },
    h('bdi', {}, fileName(name)),
    h('progress', { max: total, value: sent, 'aria-label': `Uploading ${fileName(name)}` }),
    h('span', { class: 'soft' }, `${percent(sent, total)} of ${size(total)}`),
    button('Call it off', stop, { class: 'small', 'aria-label': `Call off ${fileName(name)}` }),
  )
}

function notTaken({ name, fault, again, stop }: Uploading, i: number): Drawn {
  return h(
    'p',
    { class: 'line', key: `${i} ${name}` },
    h('bdi', {}, fileName(name)),
    h('span', { class: 'fault', role: 'alert' }, `Not taken: ${fault}`),
    again !== undefined &&
      button('Try again', again, { class: 'small', 'aria-label': `Try ${fileName(name)} again` }),
    button('Remove', stop, { class: 'small', 'aria-label': `Remove ${fileName(name)}` }),
  )
}

/** Files that still come, by their names; undefined where none does. What is sent now would go without them. */
export function stillComing(app: App, of: string): string | undefined {
  const names = (app.ui.uploads.get(of) ?? []).flatMap(one => (one.fault === undefined ? one.name : []))
  return names.length === 0 ? undefined : names.map(name => fileName(name)).join(', ')
}

/** Gives files to the node one after the other. */
export async function giveAll(app: App, of: string, files: readonly File[], take: Take) {
  if (app.filesOf(of).busy)
    return app.say('this is being sent; attach the file to what you write next', 'warn')
  for (const [i, file] of files.entries()) {
    if (file.size > FILE_BYTES_MAX) leave(app, of, { file, fault: 'it is larger than 64 MiB' })
    else if (filesIn(app.filesOf(of)).length >= FILES_MAX) return app.say(tooMany(files.slice(i)), 'bad')
    else await give(app, of, file, take)
  }
}

const PASTED = 'pasted.txt'

/**
 * What is pasted and is longer than the field takes goes along as a file: a browser takes many seconds for each key in so
 * long a text.
 */
export const pasting =
  (app: App, of: string, { bound, take }: { bound: Bound; take: Take }) =>
  (event: Event): void => {
    const text = (event as ClipboardEvent).clipboardData?.getData('text/plain') ?? ''
    if (measured(text, bound).fault === undefined) return
    event.preventDefault()
    app.say(`this is longer than one message takes; it goes along as the file ${PASTED}`, 'warn')
    void giveAll(app, of, [new File([text], PASTED, { type: 'text/plain' })], take)
  }

/** Gives a file once more that the node has no more: as this page gave it, or as it is chosen now. */
export async function giveAgain(app: App, of: string, path: string, way: { leave(): void; take: Take }) {
  const file = app.ui.given.get(path) ?? (await chosenFile())
  if (file === undefined) return
  way.leave()
  await giveAll(app, of, [file], way.take)
}

function chosenFile(): Promise<File | undefined> {
  const input = document.createElement('input')
  input.type = 'file'
  return new Promise(resolve => {
    input.onchange = () => resolve(input.files?.[0])
    input.oncancel = () => resolve(undefined)
    input.click()
  })
}

function tooMany([first, ...others]: readonly File[]): string {
  const name = fileName(first?.name ?? '')
  const which = others.length === 0 ? `${name} is` : `${name} and ${others.length} more are`
  return `a message takes ${FILES_MAX} files; ${which} not among them`
}

type Left = { file: File; fault: string; again?: () => void }

/** A row for a file that was not taken. */
function leave(app: App, of: string, { file, fault, again }: Left): void {
  const stop = () =>
    app.setUploads(
      of,
      (app.ui.uploads.get(of) ?? []).filter(one => one !== row),
    )
  const retry = again && {
    again: () => {
      stop()
      again()
    },
  }
  const row: Uploading = { name: file.name, sent: 0, total: Math.max(1, file.size), stop, fault, ...retry }
  app.setUploads(of, [...(app.ui.uploads.get(of) ?? []), row])
}

async function give(app: App, of: string, file: File, take: Take): Promise<void> {
  const without = () => (app.ui.uploads.get(of) ?? []).filter(one => one.stop !== callOff)
  const show = (sent: number) =>
    app.setUploads(of, [
      ...without(),
      { name: file.name, sent, total: Math.max(1, file.size), stop: callOff },
    ])
  let isOff = false
  const { done, stop } = app.upload(file, sent => show(sent))
  const callOff = () => {
    isOff = true
    stop()
  }
  show(0)
  try {
    const path = await done
    app.ui.given.set(path, file)
    take(path)
  } catch (error) {
    const fault = error instanceof Error ? error.message : 'the file was not taken'
    if (isOff) app.say(fault, 'warn')
    else leave(app, of, { file, fault, again: () => void giveAll(app, of, [file], take) })
  } finally {
    app.setUploads(of, without())
  }
}
