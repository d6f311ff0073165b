/** What Python sends (wire.py, encoding.py, wire_compiler.py, wire_measured.py, wire_diff.py, update_scheduler.py, queries.py), as types. */

/** A type with its size in bytes, and what the user calls an argument or result. */
export type VariableType = [type: string, bytes: number, label?: string];
/** A line of the user's: the file's number, first and last line, the function. */
export type Line = [file: number, line: number, end: number, name: string];

export interface PackedLevel {
  name: string;
  constants: string[];
  inputs: string[];
  outputs: string[];
  given: [name: string, type: number][];
  labels: Record<string, string>;
  packed: PackedEquation[];
}
/** Texts, types and lines are numbers in the tables of the program; an empty end is left out. */
export type PackedEquation = [
  operation: number,
  inputs: string[],
  outputs: string[],
  types: number[],
  role?: number,
  line?: number,
  scope?: number,
  parameters?: number,
  flops?: number,
  transposes?: string | 0,
  name?: number,
  bodies?: PackedLevel[] | 0,
];
export interface PackedJaxpr extends PackedLevel {
  texts: string[];
  types: VariableType[];
  lines: (Line | undefined)[];
}

export interface SourceText {
  file: number;
  title: string;
  first: number;
  text: string;
  note?: string;
}

/** An array that a kernel reads and another one writes. */
export type Read = [from: string, result: number, type: string, bytes: number];
export interface Kernel {
  name: string;
  kind: string;
  type: string;
  /** Paths of its equations; one stands there as often as instructions name it. */
  eqns: string[];
  instructions: number;
  unknown: number;
  read: number;
  written: number;
  saved: number;
  layout?: string;
  launch?: string;
  estimate?: number;
  cycles?: number;
  /** Paths of the equations whose results it copies, of one that only copies. */
  moves?: string[];
  copies?: string;
  /** Of how many repeats, compiled once as a loop, a run computes one; the equations of each instruction are in their order. */
  repeats?: number;
  reads?: Read[];
  /** What it does across devices: XLA's kind, between how many, bytes of operands and of results on one device. */
  across?: [kind: string, devices: number, given: number, got: number];
}

/** An array of the compiler's plan: maker (a kernel's number, or a name), kind, bytes, first and last kernel, argument or -1, allocation,
 * offset, and its equations where it has no kernel. */
export type Held = [
  maker: string | number,
  kind: number,
  bytes: number,
  first: number,
  last: number,
  argument: number,
  allocation: number,
  offset: number,
  ...equations: string[],
];
export interface MemoryPlan {
  live: number[];
  per: number;
  at: number;
  most: number;
  arguments: number;
  results: number;
  temporaries: number;
  own: number;
  buffers: Held[];
  more: number;
}

interface Compiled {
  platform: string;
  devices: string[];
  kernels: Kernel[];
  flops: number;
  accessed: number;
  peak?: number;
  memory?: MemoryPlan;
  /** How arguments and results lie over several devices, by name. */
  lies?: Record<string, string>;
  /** Equations whose results XLA was told to keep, where it would compute them again. */
  kept?: string[];
  /** What of XLA's words could not be read, and is missing here. */
  notes?: string[];
}
/** What another target's compiler made of a program. */
export interface Target extends Compiled {
  target: string;
  seconds: number;
  estimate?: number | null;
  by?: string;
}

/** A compilation that was listened to: who it was for, how long it took, and whether all of it is here. */
interface Heard {
  target: string;
  module: string;
  seconds: number;
  complete: boolean;
  note: string;
}
/** Texts are numbers in the table. */
export type PackedStep = [
  pass: number,
  fused: 0 | 1,
  producer: number,
  consumer: number,
  result: number,
  reason: number,
  plain: number,
  fusedSeconds?: number | null,
  apartSeconds?: number | null,
];
export interface Explained extends Heard {
  cut: number;
  edge?: string[];
  outcome?: string;
  answer?: string;
  about?: number[];
  texts: string[];
  steps: PackedStep[];
  nodes: Record<string, [opcode: string, paths: string[], bytes: number]>;
}
export interface Pass {
  name: string;
  pipeline: string;
  instructions: number;
  added: number;
  removed: number;
  changed: number;
  diff: string;
  gone?: string[];
  /** What it does, in plain words. */
  does?: string;
  /** The paths of the equations that each line of the diff belongs to, with ";" between them. */
  lines?: string[];
  cut?: number;
}
export interface Passes extends Heard {
  passes: Pass[];
}

export interface Findings {
  targets: Record<string, Target>;
  explained: Explained[];
  passes: Passes[];
}

/** What never changes of a program once a stage has ended, as far as it has come. */
export interface Heavy extends Partial<Target>, Partial<Findings> {
  number: number;
  function: string;
  /** How many findings there are. */
  found?: number;
  jaxpr?: PackedJaxpr;
  reason?: string;
  sources?: SourceText[];
  files?: string[];
  /** What panes are sent, by their ids. */
  panes?: Record<string, any>;
}

export interface Failure {
  function: string;
  stage: string;
  error: string;
  message: string;
  file?: string;
  line?: number;
  /** The lines around that one, the number of the first, and what people call their file. */
  title?: string;
  first?: number;
  text?: string;
}
/** What has changed since the same cell ran before: the time of a call then (0: not to be compared), what else is known, and whether it is another program. */
export interface Since {
  was: number;
  words: string[];
  differs: boolean;
  /** The titles of both runs. */
  runs: string;
}
/** A bar: what ran, its start and its seconds, how many runs it stands for, and the bytes of a copy. */
export type Span = [name: string, start: number, duration: number, count?: number, bytes?: number];
/** A device: what part of a call something ran on it, and its kernels' runs and seconds a call. */
export interface Device {
  name: string;
  busy: number;
  kernels: Record<string, [runs: number, seconds: number]>;
  spans: Span[];
  transfers?: Span[];
  /** The copies of the step shown, by kind, in words. */
  copied?: string[];
  /** Of a GPU or TPU its queues: the name, where its bars begin among the spans, its kernels' runs and seconds. */
  streams?: [name: string, first: number, runs: number, seconds: number][];
  /** Seconds in which nothing ran on it, of the seconds of the step shown. */
  idle?: [seconds: number, step: number];
  /** Where it waits for other devices in a collective: derived from when each of them began. */
  waits?: Span[];
  /** False where only a part of a step was seen. */
  whole?: boolean;
}
/** A kernel in one call: what it took, its part of all kernels' time, its rates, what bounds it in words, and how near it came to that. */
export type KernelCall = [
  seconds: number,
  runs: number,
  share: number,
  flops?: number,
  bytes?: number,
  bound?: string,
  part?: number,
];
/** Where the time of a call went, computed once for all views: the mean over the devices. */
export interface Account {
  kernels: Record<string, KernelCall>;
  /** Seconds a call by path. */
  equations: Record<string, number>;
  /** Seconds a call by the first equation of each line. */
  lines: Record<string, number>;
  /** The parts of the kernels' time in kernels with an equation, and in copies of what equations made. */
  attributed: number;
  copied: number;
  /** How kernels' times were shared by their equations; absent if no kernel has several. */
  sharing?: string;
  /** Where kernels overlap in time: the sum of their times, and the time in which at least one ran. */
  sums?: [kernels: number, running: number];
}
export interface Executed {
  calls: number;
  seconds: number;
  /** How many whole calls the profiler saw. */
  observed: number;
  /** Seconds a call, 0 while unknown, and whose they are. */
  step: number;
  clock?: "host" | "profile";
  account?: Account;
  /** The times of calls in words, and what they were measured on. */
  times: [time: string, clock: string, period: string, tip: string];
  /** Processor time that the first whole profile cost. */
  profiling?: number;
  devices: Device[];
  /** What of the profile could not be read. */
  notes?: string[];
  /** Of numbers without their profile: its id, the factor of its seconds, and what part of a call each device ran. */
  profile?: number;
  scale?: number;
  busy?: number[];
}
/** What a program's numbers belong to until it is profiled again, with the profiler's own seconds. */
export interface Profile {
  id: number;
  devices: Device[];
  account?: Account;
}
export type StageName = "trace" | "lower" | "compile" | "run";
/** The numbers of a program that move. */
export interface Light {
  number: number;
  function: string;
  traces: number;
  stage?: StageName;
  since?: number;
  continued?: number;
  traced?: number;
  equations?: number;
  reason?: string;
  lowered?: number;
  compiled?: number;
  cache?: string;
  quick?: number;
  optimized?: boolean;
  kernels?: number;
  stages?: [stage: StageName, start: number, duration: number, cache?: string][];
  failure?: Failure;
  executed?: Executed;
  edited?: Since;
  /** The times of the cell's runs, the latest last: seconds, and what they were measured on. */
  runs?: [title: string, median: number, low: number, high: number, words: string, isComparable: boolean][];
}

export interface Retrace {
  number: number;
  where: string;
  reason: string;
  fix: string;
  inside: string;
  trace: number;
  lower: number;
  compile: number;
  seconds: number;
}
export interface Miss {
  where: string;
  reason: string;
  fix: string;
  count: number;
}
export interface Retraced {
  function: string;
  count: number;
  seconds: number;
  retraces: Retrace[];
  misses: Miss[];
}

export interface Ceilings {
  flops_per_s: number;
  bytes_per_s: number;
  source?: string;
}

/** One finding of the doctor; evidence is name, value, unit, and who says so. */
export interface Advice {
  rule: string;
  says: string;
  action: string;
  share: number;
  where?: string;
  kernel?: string;
  equation?: string;
  /** The change by which it can be tried: its kind, and its values. */
  what_if?: string[];
  evidence: [name: string, value: number, unit: string, source: string][];
}
export interface Diagnosis {
  findings: Advice[];
  rules: number;
  notes?: string[];
}

/** How an equation or a kernel compares: alike, changed, added, removed. */
export type Sign = "=" | "~" | "+" | "-";
export interface Diff {
  labels: [before: string, after: string];
  numbers: [name: string, before: string, after: string, change: string, source: string][];
  equations: [sign: Sign, before: string | null, after: string | null, changed: string, detail: string][];
  kernels: [kind: string, before: string[], after: string[], detail: string][];
  timing?: { seconds: [number[], number[]]; words: [string, string]; verdict: string; source: string };
  /** Why there is no timing. */
  unmeasured?: string;
}

/** What moves while a cell runs, whole each time. */
export interface Live {
  seq?: number;
  now?: number;
  finished: boolean;
  main: number | null;
  more: number;
  programs: Light[];
  failures: Failure[];
  retraced?: Retraced[];
  cell?: string;
  ceilings?: Ceilings;
  tab?: string;
  /** What the button does that moves the panel. */
  pin?: "pin" | "unpin";
  /** The uid of the panel that this one began as. */
  origin?: string;
  diff?: Diff;
  doctor?: Record<string, Diagnosis>;
  script?: Script;
  account?: Account;
  job?: Job;
}

/** The processes that ran the cell together: what the strip says, whether one lets the others wait, and what the panel shows. */
export interface Job {
  lines: string[];
  slow: boolean;
  tree: import("./element.js").Tree;
}

/**
 * Where the time of the cell's thread went: activity, label, seconds and details of each part; and the time on the
 * devices: program, calls, seconds.
 */
export interface Account {
  seconds: number;
  parts: [string, string, number, string][];
  devices: [string, number, number][];
  notes?: string[];
}

/** A program of a script: its number (-1: many small ones), function, calls, seconds of running and of compile time, how many it stands for, whether it is shown. */
export type Share = [number, string, number, number, number, number, number];

/** The run of a script whose programs these are. */
export interface Script {
  name: string;
  command: string;
  folder: string;
  began: number;
  seconds: number;
  ended: string;
  making: number;
  facts: string[];
  programs: Share[];
  notes?: string[];
}

/** Something that only the kernel can answer. */
export interface Question {
  question: string;
  program: number;
  target?: string;
  from?: string;
  to?: string;
  edge?: (string | null)[];
  change?: string[];
}
export interface Answer {
  question: Question;
  state: string;
  progress?: number | null;
  message?: string;
}
/** What an answer found. */
export interface Finding extends Partial<Findings> {
  program: number;
  text?: string;
  /** A comparison, as a panel of its own is sent. */
  compared?: { programs: Record<string, Heavy>; live: Live };
}

/** What the traits of a panel hold, and of the library. */
export interface Traits {
  uid: string;
  is_library?: boolean;
  mounted?: boolean;
  docks?: boolean;
  pinned?: string;
  library?: string;
  /** The handle of the array that a widget of its own shows. */
  array?: string;
  opened?: boolean;
  programs?: Record<string, Heavy>;
  jaxprs?: Record<string, PackedJaxpr>;
  live?: Live;
  profiles?: Record<string, Profile>;
  questions?: string[];
  targets?: string[];
  /** How to get the compilers that are not there, by the names of targets. */
  missing?: Record<string, string>;
  answers?: Record<string, Answer>;
  findings?: Record<string, Finding>;
}

/** A widget's model, as a notebook's front end gives it, or a page of its own. */
export interface Model {
  get<Name extends keyof Traits>(name: Name): Traits[Name];
  set<Name extends keyof Traits>(name: Name, value: Traits[Name]): void;
  on(event: string, handler: (message?: any, buffers?: DataView[]) => void): void;
  off(event: string, handler: (message?: any, buffers?: DataView[]) => void): void;
  save_changes(): void;
  send?(message: object): unknown;
  widget_manager?: { get_model(id: string): Promise<Model | undefined>; kernel?: { id: string } | null };
}
