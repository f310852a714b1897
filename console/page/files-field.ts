/** Files that go along with words: those of this browser as rows, those of the machine of the node by their paths. */
import { FILES_MAX } from '../../protocol/control/console.ts'
import { size } from '../../view/ages.ts'
import { givenName } from '../../view/drafts.ts'
import type { App } from './app.ts'
import { type Drawn, h } from './h.ts'
import { button, field, typedIn } from './parts.ts'
import { type Draft, filesIn, withPath } from './ui.ts'
import { giveAgain, uploadField } from './upload.ts'

type Place = {
  /** Of the draft, and of the field for paths. */
  of: string
  id: string
  draft: Draft
  set(change: { files: string; fault?: undefined }): void
}

export function filesField(app: App, { of, id, draft, set }: Place): Drawn {
  const lines = draft.files.split('\n')
  const uploaded = lines.filter(line => givenName(line) !== undefined)
  const typed = lines.filter(line => givenName(line) === undefined).join('\n')
  const change = (files: readonly string[], paths: string) =>
    set({ files: [...files, paths].filter(part => part !== '').join('\n'), fault: undefined })
  const take = (path: string) => set({ files: withPath(app.filesOf(of), path) })
  const count = filesIn(draft).length
  return h(
    'details',
    { class: 'attach', open: draft.files !== '' || (app.ui.uploads.get(of) ?? []).length > 0 },
    h('summary', {}, 'Attach files'),
    uploadField(app, of, take),
    uploaded.length > 0 &&
      h(
        'ul',
        { class: 'files', 'aria-label': 'Files to send' },
        uploaded.map(path => {
          // as it is by then: a person may choose a file for long
          const others = () =>
            app
              .filesOf(of)
              .files.split('\n')
              .filter(line => line !== path)
          const leave = () => set({ files: others().join('\n'), fault: undefined })
          return fileRow(app, { of, path, draft, leave, take })
        }),
      ),
    field(
      'Files of the machine of the node by their paths, one a line',
      h('textarea', {
        id,
        rows: '2',
        class: 'paths',
        spellcheck: 'false',
        value: typed,
        disabled: draft.busy,
        placeholder: '/home/you/report.pdf',
        oninput: event => change(uploaded, typedIn(event)),
      }),
    ),
    count >= FILES_MAX * 0.8 &&
      count <= FILES_MAX &&
      h('p', { class: 'hint counter', role: 'status' }, `${count} of ${FILES_MAX} files`),
    count > FILES_MAX &&
      h(
        'p',
        { class: 'fault', role: 'alert' },
        `A message takes ${FILES_MAX} files; these are ${count}. Remove some before you send it.`,
      ),
  )
}

type Row = { of: string; path: string; draft: Draft; leave(): void; take(path: string): void }

/** A file that the node has, or had. */
function fileRow(app: App, { of, path, draft, leave, take }: Row): Drawn {
  const name = givenName(path) ?? ''
  const bytes = app.ui.given.get(path)?.size
  const isGone = app.ui.gone.has(path)
  const again = () => void giveAgain(app, of, path, { leave, take })
  const small = { class: 'small', disabled: draft.busy }
  return h(
    'li',
    { key: path },
    h('span', { class: 'file-name' }, h('bdi', {}, name)),
    bytes !== undefined && h('span', { class: 'soft' }, ` ${size(bytes)} `),
    isGone && h('span', { class: 'fault', role: 'alert' }, 'No longer on your node; add it again'),
    isGone && button('Try again', again, { ...small, 'aria-label': `Add ${name} again` }),
    button('Remove', leave, { ...small, 'aria-label': `Remove ${name}` }),
  )
}
