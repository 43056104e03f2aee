/* The C interface of FMI 2.0 (Functional Mock-up Interface), as far as a functional mock-up unit declares it.

   FMI2_FUNCTION_PREFIX, when it is defined on the compiler's command line, stands before every function: that is how
   several units are linked into one program. Without it the functions have their plain names, as a shared library
   needs. */
#ifndef FLEXCTL_FMI2_H
#define FLEXCTL_FMI2_H

#include <stddef.h>

#if defined(_WIN32)
#define FMI2_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define FMI2_EXPORT __attribute__((visibility("default")))
#else
#define FMI2_EXPORT
#endif

#if defined(FMI2_FUNCTION_PREFIX)
#define FMI2_JOIN(a, b) a##b
#define FMI2_JOINED(a, b) FMI2_JOIN(a, b)
#define FMI2(name) FMI2_JOINED(FMI2_FUNCTION_PREFIX, name)
#else
#define FMI2(name) name
#endif

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Char;
typedef const fmi2Char *fmi2String;
typedef char fmi2Byte;

#define fmi2True 1
#define fmi2False 0

typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;

typedef void (*fmi2CallbackLogger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
typedef void *(*fmi2CallbackAllocateMemory)(size_t, size_t);
typedef void (*fmi2CallbackFreeMemory)(void *);
typedef void (*fmi2StepFinished)(fmi2ComponentEnvironment, fmi2Status);

typedef struct {
    const fmi2CallbackLogger logger;
    const fmi2CallbackAllocateMemory allocateMemory;
    const fmi2CallbackFreeMemory freeMemory;
    const fmi2StepFinished stepFinished;
    const fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

typedef struct {
    fmi2Boolean newDiscreteStatesNeeded;
    fmi2Boolean terminateSimulation;
    fmi2Boolean nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged;
    fmi2Boolean nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

#define fmi2GetTypesPlatform FMI2(fmi2GetTypesPlatform)
#define fmi2GetVersion FMI2(fmi2GetVersion)
#define fmi2SetDebugLogging FMI2(fmi2SetDebugLogging)
#define fmi2Instantiate FMI2(fmi2Instantiate)
#define fmi2FreeInstance FMI2(fmi2FreeInstance)
#define fmi2SetupExperiment FMI2(fmi2SetupExperiment)
#define fmi2EnterInitializationMode FMI2(fmi2EnterInitializationMode)
#define fmi2ExitInitializationMode FMI2(fmi2ExitInitializationMode)
#define fmi2Terminate FMI2(fmi2Terminate)
#define fmi2Reset FMI2(fmi2Reset)
#define fmi2GetReal FMI2(fmi2GetReal)
#define fmi2GetInteger FMI2(fmi2GetInteger)
#define fmi2GetBoolean FMI2(fmi2GetBoolean)
#define fmi2GetString FMI2(fmi2GetString)
#define fmi2SetReal FMI2(fmi2SetReal)
#define fmi2SetInteger FMI2(fmi2SetInteger)
#define fmi2SetBoolean FMI2(fmi2SetBoolean)
#define fmi2SetString FMI2(fmi2SetString)
#define fmi2GetFMUstate FMI2(fmi2GetFMUstate)
#define fmi2SetFMUstate FMI2(fmi2SetFMUstate)
#define fmi2FreeFMUstate FMI2(fmi2FreeFMUstate)
#define fmi2SerializedFMUstateSize FMI2(fmi2SerializedFMUstateSize)
#define fmi2SerializeFMUstate FMI2(fmi2SerializeFMUstate)
#define fmi2DeSerializeFMUstate FMI2(fmi2DeSerializeFMUstate)
#define fmi2GetDirectionalDerivative FMI2(fmi2GetDirectionalDerivative)
#define fmi2EnterEventMode FMI2(fmi2EnterEventMode)
#define fmi2NewDiscreteStates FMI2(fmi2NewDiscreteStates)
#define fmi2EnterContinuousTimeMode FMI2(fmi2EnterContinuousTimeMode)
#define fmi2CompletedIntegratorStep FMI2(fmi2CompletedIntegratorStep)
#define fmi2SetTime FMI2(fmi2SetTime)
#define fmi2SetContinuousStates FMI2(fmi2SetContinuousStates)
#define fmi2GetDerivatives FMI2(fmi2GetDerivatives)
#define fmi2GetEventIndicators FMI2(fmi2GetEventIndicators)
#define fmi2GetContinuousStates FMI2(fmi2GetContinuousStates)
#define fmi2GetNominalsOfContinuousStates FMI2(fmi2GetNominalsOfContinuousStates)
#define fmi2SetRealInputDerivatives FMI2(fmi2SetRealInputDerivatives)
#define fmi2GetRealOutputDerivatives FMI2(fmi2GetRealOutputDerivatives)
#define fmi2DoStep FMI2(fmi2DoStep)
#define fmi2CancelStep FMI2(fmi2CancelStep)
#define fmi2GetStatus FMI2(fmi2GetStatus)
#define fmi2GetRealStatus FMI2(fmi2GetRealStatus)
#define fmi2GetIntegerStatus FMI2(fmi2GetIntegerStatus)
#define fmi2GetBooleanStatus FMI2(fmi2GetBooleanStatus)
#define fmi2GetStringStatus FMI2(fmi2GetStringStatus)

FMI2_EXPORT const char *fmi2GetTypesPlatform(void);
FMI2_EXPORT const char *fmi2GetVersion(void);
FMI2_EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component, fmi2Boolean, size_t, const fmi2String[]);
FMI2_EXPORT fmi2Component fmi2Instantiate(
    fmi2String, fmi2Type, fmi2String, fmi2String, const fmi2CallbackFunctions *, fmi2Boolean, fmi2Boolean);
FMI2_EXPORT void fmi2FreeInstance(fmi2Component);
FMI2_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component, fmi2Boolean, fmi2Real, fmi2Real, fmi2Boolean, fmi2Real);
FMI2_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component);
FMI2_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component);
FMI2_EXPORT fmi2Status fmi2Terminate(fmi2Component);
FMI2_EXPORT fmi2Status fmi2Reset(fmi2Component);
FMI2_EXPORT fmi2Status fmi2GetReal(fmi2Component, const fmi2ValueReference[], size_t, fmi2Real[]);
FMI2_EXPORT fmi2Status fmi2GetInteger(fmi2Component, const fmi2ValueReference[], size_t, fmi2Integer[]);
FMI2_EXPORT fmi2Status fmi2GetBoolean(fmi2Component, const fmi2ValueReference[], size_t, fmi2Boolean[]);
FMI2_EXPORT fmi2Status fmi2GetString(fmi2Component, const fmi2ValueReference[], size_t, fmi2String[]);
FMI2_EXPORT fmi2Status fmi2SetReal(fmi2Component, const fmi2ValueReference[], size_t, const fmi2Real[]);
FMI2_EXPORT fmi2Status fmi2SetInteger(fmi2Component, const fmi2ValueReference[], size_t, const fmi2Integer[]);
FMI2_EXPORT fmi2Status fmi2SetBoolean(fmi2Component, const fmi2ValueReference[], size_t, const fmi2Boolean[]);
FMI2_EXPORT fmi2Status fmi2SetString(fmi2Component, const fmi2ValueReference[], size_t, const fmi2String[]);
FMI2_EXPORT fmi2Status fmi2GetFMUstate(fmi2Component, fmi2FMUstate *);
FMI2_EXPORT fmi2Status fmi2SetFMUstate(fmi2Component, fmi2FMUstate);
FMI2_EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component, fmi2FMUstate *);
FMI2_EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component, fmi2FMUstate, size_t *);
FMI2_EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component, fmi2FMUstate, fmi2Byte[], size_t);
FMI2_EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component, const fmi2Byte[], size_t, fmi2FMUstate *);
FMI2_EXPORT fmi2Status fmi2GetDirectionalDerivative(
    fmi2Component, const fmi2ValueReference[], size_t, const fmi2ValueReference[], size_t, const fmi2Real[], fmi2Real[]);
FMI2_EXPORT fmi2Status fmi2EnterEventMode(fmi2Component);
FMI2_EXPORT fmi2Status fmi2NewDiscreteStates(fmi2Component, fmi2EventInfo *);
FMI2_EXPORT fmi2Status fmi2EnterContinuousTimeMode(fmi2Component);
FMI2_EXPORT fmi2Status fmi2CompletedIntegratorStep(fmi2Component, fmi2Boolean, fmi2Boolean *, fmi2Boolean *);
FMI2_EXPORT fmi2Status fmi2SetTime(fmi2Component, fmi2Real);
FMI2_EXPORT fmi2Status fmi2SetContinuousStates(fmi2Component, const fmi2Real[], size_t);
FMI2_EXPORT fmi2Status fmi2GetDerivatives(fmi2Component, fmi2Real[], size_t);
FMI2_EXPORT fmi2Status fmi2GetEventIndicators(fmi2Component, fmi2Real[], size_t);
FMI2_EXPORT fmi2Status fmi2GetContinuousStates(fmi2Component, fmi2Real[], size_t);
FMI2_EXPORT fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component, fmi2Real[], size_t);
FMI2_EXPORT fmi2Status fmi2SetRealInputDerivatives(
    fmi2Component, const fmi2ValueReference[], size_t, const fmi2Integer[], const fmi2Real[]);
FMI2_EXPORT fmi2Status fmi2GetRealOutputDerivatives(
    fmi2Component, const fmi2ValueReference[], size_t, const fmi2Integer[], fmi2Real[]);
FMI2_EXPORT fmi2Status fmi2DoStep(fmi2Component, fmi2Real, fmi2Real, fmi2Boolean);
FMI2_EXPORT fmi2Status fmi2CancelStep(fmi2Component);
FMI2_EXPORT fmi2Status fmi2GetStatus(fmi2Component, const fmi2StatusKind, fmi2Status *);
FMI2_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component, const fmi2StatusKind, fmi2Real *);
FMI2_EXPORT fmi2Status fmi2GetIntegerStatus(fmi2Component, const fmi2StatusKind, fmi2Integer *);
FMI2_EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component, const fmi2StatusKind, fmi2Boolean *);
FMI2_EXPORT fmi2Status fmi2GetStringStatus(fmi2Component, const fmi2StatusKind, fmi2String *);

#endif
