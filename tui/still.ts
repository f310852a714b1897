/** Reduced motion: nothing on the screen counts by the second; what the node and the person do shows as ever. */
import { present } from '../protocol/encoding/present.ts'
import type { Scene } from './scene.ts'

/** `NO_MOTION` set to anything, as `NO_COLOR` is for colours. */
export const wantsStill = (env: Readonly<Record<string, string | undefined>>): boolean =>
  Boolean(env['NO_MOTION'])

/** The scene without what counts down or up. */
export function stilled(scene: Scene): Scene {
  const { view, model, now } = scene
  const { connection } = view
  const isCounting = connection.state === 'lost' || connection.state === 'stopped'
  const output = model.output && { ...model.output, since: Number.POSITIVE_INFINITY }
  return {
    ...scene,
    view: isCounting ? { ...view, connection: { ...connection, retryAt: now } } : view,
    model: { ...model, ...present({ output }) },
  }
}
