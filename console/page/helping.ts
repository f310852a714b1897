/** States in the place of what they keep away: what is the matter, the command that helps, and one button. */
import type { Face, Help } from '../../view/faces.ts'
import type { App } from './app.ts'
import { openSetting } from './filling.ts'
import { type Drawn, h, type Kid } from './h.ts'
import { button, sentence } from './parts.ts'

export function faceBlock(app: App, face: Face): Drawn {
  const isLoading = face.kind === 'loading'
  return h(
    'div',
    { class: `face ${face.tone} ${face.kind}`, key: 'face', role: isLoading ? 'status' : undefined },
    isLoading && h('span', { class: 'spin', 'aria-hidden': 'true' }),
    h('p', {}, sentence(face.says)),
    face.next !== undefined && h('p', { class: 'next' }, nextOf(app, face.next)),
    face.kind === 'node_down' && h('p', { class: 'next' }, 'Start your node: ', commandOf(app, 'svc up')),
    face.help !== undefined && h('p', {}, helpButton(app, face.help, 'main')),
  )
}

/** A command stands as one, to be copied; words as words. */
export const nextOf = (app: App, next: string): Kid =>
  /^svc( |$)/.test(next) ? commandOf(app, next) : h('span', {}, sentence(next))

/** What is run in a shell: the page cannot. */
export const commandOf = (app: App, command: string): Drawn =>
  h(
    'span',
    { class: 'command' },
    h('code', {}, command),
    button('Copy', () => void app.copy(command, 'the command'), {
      class: 'small',
      'aria-label': `Copy the command ${command}`,
    }),
  )

export const helpButton = (app: App, help: Help, look?: string): Drawn =>
  button(help.says, () => doHelp(app, help), { class: look, key: 'help' })

function doHelp(app: App, { does }: Help): void {
  switch (does.to) {
    case 'setting':
      return void openSetting(app, does.id)
    case 'screen':
      return void app.go({
        screen: does.screen,
        open: undefined,
        waits: does.waits === true,
        archived: false,
        q: '',
      })
    case 'find':
      app.set({ filter: { ...app.ui.filter, agents: does.words } })
      app.go({ screen: 'agents', open: undefined, q: does.words })
      return void app.live.find(does.words)
    case 'copy':
      return void app.copy(does.text, does.what)
  }
}
