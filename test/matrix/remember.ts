/** Lets every module of this process have the remembering engine in place of the engine. */
import { registerHooks } from 'node:module'

const { href } = new URL('remembering-crypto.ts', import.meta.url)

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '#crypto' ? { url: href, shortCircuit: true } : next(specifier, context),
})
