/** The pool class of undici by its own path; the package declares it at its front door only. */
declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici'
  // biome-ignore lint/style/noDefaultExport: the module is as it is
  export default Agent
}
