/** Files of the browser, given to the node one after the other: how far each is, and how it is called off. */

import { FILES_MAX } from '../../protocol/control/console.ts'
import { fileName } from '../../protocol/encoding/file-names.ts'
import { size } from '../../view/ages.ts'
import { NodeGone, NodeRefused } from '../../view/node-client.ts'
import { percent } from '../../view/sentences.ts'
import type { App } from './app.ts'
import { type Drawn, h } from './h.ts'
import { button } from './parts.ts'
import type { Peer } from './peer.ts'
import { filesIn } from './ui.ts'

export const FILE_BYTES_MAX = 64 * 1024 * 1024

export type Uploading = { name: string; sent: number; total: number; stop: () => void }
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
export function uploadField(app: App, of: string, take: (path: string) => void): Drawn {
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
    going.map(({ name, sent, total, stop }, i) =>
      h(
        'p',
        { class: 'line', key: `${i} ${name}` },
        h('bdi', {}, fileName(name)),
        h('progress', { max: total, value: sent, 'aria-label': `Uploading ${fileName(name)}` }),
        h('span', { class: 'soft' }, `${percent(sent, total)} of ${size(total)}`),
        button('Call it off', stop, { class: 'small', 'aria-label': `Call off ${fileName(name)}` }),
      ),
    ),
  )
}

/** Gives files to the node one after the other. */
export async function giveAll(app: App, of: string, files: readonly File[], take: (path: string) => void) {
  for (const file of files) {
    if (file.size > FILE_BYTES_MAX) app.say(`${fileName(file.name)} is larger than 64 MiB`, 'bad')
    else if (filesIn(app.filesOf(of)).length >= FILES_MAX)
      return app.say(`a message takes ${FILES_MAX} files; ${fileName(file.name)} is not among them`, 'bad')
    else await give(app, of, file, take)
  }
}

async function give(app: App, of: string, file: File, take: (path: string) => void): Promise<void> {
  const without = () => (app.ui.uploads.get(of) ?? []).filter(one => one.stop !== stop)
  const show = (sent: number) =>
    app.setUploads(of, [...without(), { name: file.name, sent, total: Math.max(1, file.size), stop }])
  const { done, stop } = app.upload(file, sent => show(sent))
  show(0)
  try {
    const path = await done
    app.ui.given.set(path, file.size)
    take(path)
  } catch (error) {
    app.say(error instanceof Error ? error.message : 'the file was not taken', 'warn')
  } finally {
    app.setUploads(of, without())
  }
}
